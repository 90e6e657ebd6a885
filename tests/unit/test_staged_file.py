"""A replica's Parquet file: few row groups, the compression asked for, and no name before its batch counts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import penstock as ps
from penstock.control.configuration import Configuration
from penstock.element.block import block_of
from penstock.spark import staged_file
from penstock.spark.checkpoint import BatchPlan
from penstock.spark.staged_file import StagedFile, publish_file


def test_blocks_are_gathered_into_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged_file, "ROW_GROUP_ROWS", 250)
    app = ps.Application("staged")
    app.source("in", schema={"x": "int64"}).sink("out", ps.sinks.parquet(tmp_path / "out", compression="zstd"))
    (sink,) = app.graph.sinks
    file = StagedFile(sink.connector, sink.schema, BatchPlan(5, 1, None, Configuration(())), 2, 77)  # type: ignore[arg-type]
    for start in range(0, 700, 100):
        file.write(block_of(pa.table({"x": range(start, start + 100)}), sink.schema))
    staged = file.close()
    assert list((tmp_path / "out").glob("*.parquet")) == []
    publish_file(sink, staged)
    (path,) = (tmp_path / "out").glob("*.parquet")
    footer = pyarrow.parquet.read_metadata(path)
    assert [footer.row_group(i).num_rows for i in range(footer.num_row_groups)] == [300, 300, 100]
    assert footer.row_group(0).column(0).compression == "ZSTD"
    assert pyarrow.parquet.read_table(path).column("x").to_pylist() == list(range(700))
