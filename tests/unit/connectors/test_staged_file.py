"""A part in a file: few row groups, the compression asked for, and no name before its batch counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import penstock as ps
from penstock.block.block import block_of
from penstock.connectors.files import staged_file
from penstock.connectors.port import BatchId
from penstock.errors import CorruptStateError, StateError

SCHEMA = pa.schema({"x": pa.int64()})


def part(batch: int = 5, epoch: int = 1, replica: int | None = 2, attempt: int = 77) -> ps.sinks.Part:
    return ps.sinks.Part("out", SCHEMA, BatchId(batch, "run"), epoch, replica, attempt)


def staged(sink: Any, own: ps.sinks.Part, *tables: dict[str, Any]) -> str:
    opened = sink.open(own)
    for table in tables:
        sink.write(opened, block_of(pa.table(table), SCHEMA))
    closed: str = opened.close()
    return closed


def delivery(*parts: str, batch: int = 5) -> ps.sinks.Delivery:
    return ps.sinks.Delivery("out", SCHEMA, BatchId(batch, "run"), parts)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def test_blocks_are_gathered_into_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged_file, "ROW_GROUP_ROWS", 250)
    sink = ps.sinks.parquet(tmp_path / "out", compression="zstd")
    closed = staged(sink, part(), *({"x": range(start, start + 100)} for start in range(0, 700, 100)))
    assert names(tmp_path / "out") == []
    (path,) = sink.publish(delivery(closed)).files
    footer = pyarrow.parquet.read_metadata(path)
    assert [footer.row_group(i).num_rows for i in range(footer.num_row_groups)] == [300, 300, 100]
    assert footer.row_group(0).column(0).compression == "ZSTD"
    assert pyarrow.parquet.read_table(path).column("x").to_pylist() == list(range(700))


@pytest.mark.parametrize("sink", [ps.sinks.parquet, ps.sinks.csv])
def test_a_batch_that_runs_again_with_fewer_replicas_leaves_nothing_of_before(tmp_path: Path, sink: Any) -> None:
    own = sink(tmp_path / "out")
    for attempt, replicas in ((1, 4), (2, 2), (3, 0)):
        parts = [staged(own, part(5, 1, replica, attempt), {"x": [replica]}) for replica in range(replicas)]
        own.publish(delivery(*parts))
        assert len(names(tmp_path / "out")) == replicas


def test_a_batch_that_runs_again_with_nothing_leaves_no_ordered_file_of_before(tmp_path: Path) -> None:
    own = ps.sinks.parquet(tmp_path / "out", ordered=True)
    own.publish(delivery(staged(own, part(5, 1, None, 1), {"x": [1]})))
    assert len(names(tmp_path / "out")) == 1
    own.publish(delivery())
    assert names(tmp_path / "out") == []


def test_a_delivery_that_was_cut_is_finished_by_the_next_driver(tmp_path: Path) -> None:
    sink = ps.sinks.parquet(tmp_path / "out")
    parts = [staged(sink, part(5, 1, replica), {"x": [replica]}) for replica in range(3)]
    sink.publish(delivery(parts[0]))  # and then it died
    sink.sweep(ps.sinks.Sweep(before_epoch=2, excluded=frozenset(parts)))
    sink.publish(delivery(*parts))
    sink.publish(delivery(*parts))
    assert pyarrow.parquet.read_table(tmp_path / "out")["x"].to_pylist() == [0, 1, 2]


def test_a_part_that_is_gone_is_told_and_not_skipped(tmp_path: Path) -> None:
    sink = ps.sinks.csv(tmp_path / "out")
    closed = staged(sink, part(replica=None), {"x": [1]})
    (tmp_path / "out" / ".penstock" / closed).unlink()
    with pytest.raises(CorruptStateError, match=r"sink 'out' in '.*', which the manifest of micro-batch 5 names, are"):
        sink.publish(delivery(closed))


def test_what_nobody_needs_is_deleted(tmp_path: Path) -> None:
    sink = ps.sinks.parquet(tmp_path / "out")
    parts = [staged(sink, part(batch, epoch), {"x": [1]}) for batch in (3, 4, 5) for epoch in (1, 2)]
    sink.sweep(ps.sinks.Sweep(before_batch=4))
    assert names(tmp_path / "out" / ".penstock") == parts[2:]
    sink.sweep(ps.sinks.Sweep(before_epoch=2, excluded=frozenset({parts[4]})))
    assert names(tmp_path / "out" / ".penstock") == sorted([parts[3], parts[4], parts[5]])


def test_a_driver_that_was_overtaken_publishes_nothing(tmp_path: Path) -> None:
    def overtaken() -> None:
        raise StateError("taken over")

    sink = ps.sinks.csv(tmp_path / "out")
    closed = staged(sink, part(replica=None), {"x": [1]})
    late = ps.sinks.Delivery("out", SCHEMA, BatchId(5, "run"), (closed,), fence=overtaken)
    with pytest.raises(StateError, match="taken over"):
        sink.publish(late)
    assert names(tmp_path / "out") == []
