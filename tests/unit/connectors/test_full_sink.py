"""A sink of files on a full disk says so in the system's own words, whoever writes: Arrow puts others around them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.parquet import ParquetWriter

from penstock.connectors.files.staged_file import StagedFile
from penstock.connectors.files.writers import write_table
from penstock.connectors.port import BatchId
from penstock.connectors.sinks.sink_port import Part
from penstock.errors import InputError
from tests.unit.full_disk import REASON, full_disk

TABLE = pa.table({"x": list(range(1_000))})


def test_a_staged_file(tmp_path: Path) -> None:
    part = Part("out", TABLE.schema, BatchId(3, "run"), 1)
    file = StagedFile(str(tmp_path), part, lambda path: ParquetWriter(path, TABLE.schema))

    def write() -> None:
        file.write_table(TABLE)
        file.close()

    with full_disk(), pytest.raises(InputError, match=rf"^cannot write \S+: {REASON}$"):
        write()


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_a_whole_file(tmp_path: Path, format_: str) -> None:
    with full_disk(), pytest.raises(InputError, match=rf"^cannot write \S+: {REASON}$"):
        write_table(TABLE, tmp_path, "batch", format_)
