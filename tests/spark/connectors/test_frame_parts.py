"""A DataFrame of a batch has the same rows in the same order, whether its parts are files or in memory."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.block.block import Block, block_of
from penstock.block.position import Position, source_position
from penstock.connectors.port import BatchId
from penstock.connectors.sinks import frame_part
from penstock.connectors.sinks.frame_part import FramePart, frame_of, is_readable
from penstock.connectors.sinks.sink_port import Delivery, Part
from penstock.errors import CorruptStateError

WORDS = {
    "n": "int64", "key": "symbol", "text": "string", "flag": "bool", "tiny": "int8", "small": "uint8", "short": "int16",
    "middle": "uint16", "int": "int32", "wide": "uint32", "large": "uint64", "half": "float32", "full": "float64",
    "tags": "list<symbol>", "at": "timestamp",
}  # fmt: skip
MANY = 8


def numbered(numbers: list[int], *, positioned: bool = True) -> Block:
    """Tuples whose places in the total order are their numbers; every third has nulls."""
    at = datetime.datetime(2026, 1, 1)
    rows = [
        dict.fromkeys(WORDS) | {"n": n} if n % 3 == 0
        else {
            "n": n, "key": f"k{n % 2}", "text": f"t{n}", "flag": n % 2 == 0, "tiny": -n, "small": 200 + n, "short": -n,
            "middle": 60_000 + n, "int": n, "wide": (1 << 31) + n, "large": (1 << 63) + n, "half": n / 2, "full": n / 3,
            "tags": ["a", None, f"t{n}"], "at": at + datetime.timedelta(microseconds=n),
        }
        for n in numbers
    ]  # fmt: skip
    schema = ps.Application("rows").source("in", schema=WORDS).schema
    block = block_of(pa.Table.from_pylist(rows, schema), schema)
    if positioned:
        own = source_position(pa.array(numbers, pa.float64()).to_numpy(), 0, 0)
        block.position = Position(own.stamp, own.place, own.sequence, own.levels)
    return block


def delivery(session: SparkSession | None, folder: Path, parts: list[list[Block]]) -> Delivery:
    names, schema = [], numbered([]).schema
    for replica, blocks in enumerate(parts):
        opened = FramePart(Part("out", schema, BatchId(0, "run"), replica=replica, folder=folder))
        for block in blocks:
            opened.write(block)
        names.append(opened.close())
    return Delivery("out", schema, BatchId(0, "run"), tuple(names), folder=folder, session=session)


SHAPES = {
    "in turn": [[range(12, 24), range(24, 30)], [range(12)]],
    "interleaved": [[range(0, 40, 2)], [range(1, 40, 2)]],
    "one few": [[range(20)], [range(20, 23)]],
    "interleaved and few": [[range(0, 30, 2)], [range(1, 9, 2)]],
    "all few": [[range(3, 6)], [range(3)]],
    "out of order within": [[[3, 2, 1, 0, 9, 8, 7, 6, 5, 4]], [range(10, 20)]],
}


@pytest.mark.parametrize("positioned", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_in_the_total_order(
    session: SparkSession, tmp_path: Path, shape: str, positioned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_part, "MANY", MANY)
    parts = [[numbered(list(own), positioned=positioned) for own in blocks] for blocks in SHAPES[shape]]
    given = delivery(session, tmp_path, parts)
    kinds = {name.endswith(".parquet") for name in given.parts}
    assert kinds == {"all few": {False}, "in turn": {True}}.get(shape, kinds)
    frame = frame_of(given)
    found = [row.n for row in frame.collect()]
    if positioned:
        assert found == sorted(n for blocks in SHAPES[shape] for own in blocks for n in own)
    else:
        assert sorted(found) == sorted(n for blocks in SHAPES[shape] for own in blocks for n in own)


def test_files_and_memory_give_the_same_types_and_values(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_memory = frame_of(delivery(session, tmp_path / "few", [[numbered(list(range(9)))]]))
    monkeypatch.setattr(frame_part, "MANY", MANY)
    given = delivery(session, tmp_path / "many", [[numbered(list(range(9)))]])
    assert given.parts[0].endswith(".parquet")
    from_file = frame_of(given)
    assert from_file.dtypes == in_memory.dtypes
    assert from_file.collect() == in_memory.collect()
    assert from_file.count() == from_file.count() == 9


def test_many_tuples_of_a_run_come_as_files_and_are_deleted(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[tuple[int, int]] = []

    def keep(frame: DataFrame, batch: int) -> None:
        assert "parquet" in str(frame._jdf.queryExecution().optimizedPlan()).lower()
        counts.append((frame.count(), frame.where("volume > 0").count()))

    app = ps.Application("many")
    trades = app.source("trades", ps.sources.trace("unbounded", total=400_000))
    trades.sink("out", ps.sinks.foreach_batch(keep))
    handle = ps.start(app, session=session, checkpoint=tmp_path / "c")
    handle.wait(120)
    handle.stop()
    assert sum(count for count, _ in counts) == 400_000
    staged = [path.name for path in (tmp_path / "c" / "staged").glob("batch-*")]
    assert not [name for name in staged if int(name[6:18]) < max(len(counts) - 2, 0)]


def test_a_file_that_is_gone_or_torn_is_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(frame_part, "MANY", MANY)
    given = delivery(None, tmp_path, [[numbered(list(range(9)))]])
    path = tmp_path / given.parts[0]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(CorruptStateError, match="are torn: they cannot be delivered"):
        frame_of(given)
    path.unlink()
    with pytest.raises(CorruptStateError, match="are gone: they cannot be delivered"):
        frame_of(given)


def test_names_that_spark_takes_for_one_stay_in_memory(tmp_path: Path) -> None:
    assert is_readable(tmp_path, pa.schema({"a": pa.int64(), "b": pa.int64()}))
    assert not is_readable(tmp_path, pa.schema({"a": pa.int64(), "A": pa.int64()}))
    assert not is_readable(tmp_path / "{x}", pa.schema({"a": pa.int64()}))
    assert not is_readable(tmp_path, pa.schema({"#stamp": pa.int64()}))
