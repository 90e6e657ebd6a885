"""Hosts whose memory fills up at any moment: state goes on, on disk, and results equal the in-process engine."""

from __future__ import annotations

import errno
import logging
import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.block.schema import schema_of
from penstock.state.memory import host_directory as host_state
from penstock.state.memory import host_memory
from tests.dataplane.test_graphs import assert_equal
from tests.dataplane.test_operators import KEYED, aggregated
from tests.reference.checking import table_of
from tests.reference.streams import TRADES, trades


@contextmanager
def memory_that_fills_up(folder: Path, chance: random.Random) -> Iterator[list[str]]:
    """A state directory whose space ends at some moment of a task, or between two; gives what was full."""
    full: list[str] = []
    reserve = os.posix_fallocate

    def fills_up(path: str) -> bool:
        if path.startswith(str(folder)) and (full or chance.random() < 0.05):
            full.append(path)
        return bool(full) and path.startswith(str(folder))

    def reserve_if_free(descriptor: int, offset: int, length: int) -> None:
        if fills_up(os.readlink(f"/proc/self/fd/{descriptor}")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        reserve(descriptor, offset, length)

    def free(path: str) -> int:
        return 0 if fills_up(path) else 1 << 40

    with patch.dict(os.environ, {host_state.STATE_DIRECTORY: str(folder / "memory")}), patch.object(
        host_state, "is_other_disk", lambda one, other: True
    ), patch.object(os, "posix_fallocate", reserve_if_free), patch.object(
        host_memory, "free_bytes", free
    ), patch.object(host_state, "free_bytes", free):  # fmt: skip
        yield full


ROW = {"key": "a", "name": None, "x": None, "n": None, "u": None, "flag": None, "t": 0}
NULLS = table_of([ROW, *[ROW | {"key": None}] * 8], schema_of(TRADES))


@pytest.mark.parametrize("kind", ["sliding", "long", "tumbling", "steps", "kept numbers", "stream"])
@given(table=trades(), seed=st.integers(0, 2**32), kills=st.sampled_from([0.0, 0.2]))
@example(table=NULLS, seed=1, kills=0.2)  # a worker that knows of nulls opens new files, of which it says nothing
def test_windows_whose_memory_is_full_go_on_on_disk(kind: str, table: pa.Table, seed: int, kills: float) -> None:
    with tempfile.TemporaryDirectory() as folder, memory_that_fills_up(Path(folder), random.Random(seed)):
        assert_equal(aggregated(*KEYED[kind]).graph, {"trades": table}, seed, kills)


def test_one_warning_tells_that_state_is_on_disk(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    row = {"key": "a", "name": "b", "x": 1.0, "n": 1, "u": 1, "flag": True, "t": 0}
    table = table_of([row] * 30, schema_of(TRADES))
    with memory_that_fills_up(tmp_path, random.Random(3)) as full, caplog.at_level(logging.WARNING):
        full.append("from the start")
        assert_equal(aggregated(*KEYED["sliding"]).graph, {"trades": table}, 1, 0.0)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert f"'{tmp_path}/memory' has too little space: state by key is in" in told[0]
