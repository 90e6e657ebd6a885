"""Every source is behind one port: what is planned and read through it is what an evaluation reads."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import penstock as ps
from penstock.app.operators import Source
from penstock.block.block import block_of
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import source_position
from penstock.connectors.planned.source_port import MEMBERS, lacking, planned_source
from penstock.connectors.recorded import record
from penstock.connectors.source_kinds import recorded_source

ROWS = 10
SCHEMA = pa.schema({"n": pa.int64(), "key": pa.string()})
TABLE = pa.table({"n": range(ROWS), "key": [f"k{n % 3}" for n in range(ROWS)]}, schema=SCHEMA)


def csv(folder: Path) -> ps.sources.SourcePort:
    pa.csv.write_csv(TABLE.slice(0, 6), folder / "1.csv")
    pa.csv.write_csv(TABLE.slice(6), folder / "2.csv")
    return ps.sources.csv(folder / "*.csv")


def parquet(folder: Path) -> ps.sources.SourcePort:
    for number, table in enumerate((TABLE.slice(0, 6), TABLE.slice(6))):
        pa.parquet.write_table(table, folder / f"{number}.parquet", row_group_size=2)
    return ps.sources.parquet(folder / "*.parquet")


def trace(folder: Path) -> ps.sources.SourcePort:
    def tuples(offsets: np.ndarray[Any, Any]) -> pa.Table:
        return TABLE.take(offsets)

    return ps.sources.trace("unbounded", total=ROWS, function=tuples)


def recorded(folder: Path) -> ps.sources.SourcePort:
    position = source_position(np.arange(ROWS, dtype=np.float64), 0, 0)
    record(block_of(TABLE, SCHEMA, position), str(folder / "recorded.arrow"))
    return recorded_source(str(folder / "recorded.arrow"))


READ_BY_SPLITS = {"csv": csv, "parquet": parquet, "trace": trace, "recorded": recorded}


def frame() -> Any:
    """What of a streaming DataFrame is asked for without Spark."""
    return SimpleNamespace(isStreaming=True, columns=SCHEMA.names, schema=SimpleNamespace(fields=[]), sparkSession=None)


OTHERS = {
    "rate": lambda: ps.sources.rate(10),
    "dataframe": lambda: ps.sources.dataframe(frame()),
    "kafka": lambda: ps.sources.kafka("localhost:9092", "trades"),
    "websocket": lambda: ps.sources.websocket("ws://localhost:1"),
}


def batches(source: ps.sources.SourcePort, own: Path, most: int) -> list[list[ps.sources.Split]]:
    """The splits of each micro-batch, until nothing has come."""
    found, start = [], None
    while (end := source.latest(start, ps.sources.Planning(own, most, time_s=1.0))) != start:
        found.append(list(source.splits(start, end, own)))
        start = end
    assert not start or source.backlog(start, own) == 0
    return found


def rows_of(source: ps.sources.SourcePort, split: ps.sources.Split) -> list[dict[str, Any]]:
    reading = ps.sources.Reading(Source("in", (), SCHEMA, source), DeadLetters())
    return [row for batch in source.read(split, reading) for row in batch.to_pylist()]


@pytest.mark.parametrize("make", [*OTHERS.values()], ids=[*OTHERS])
def test_each_kind_of_source_has_all_members(make: Callable[[], ps.sources.SourcePort]) -> None:
    source = make()
    assert lacking(source) == []
    assert source.promise
    assert list(source.problems(Source("in", (), source.schema or SCHEMA, source))) == []


@pytest.mark.parametrize("make", [OTHERS["rate"], OTHERS["dataframe"]], ids=["rate", "dataframe"])
def test_where_spark_brings_the_rows_the_driver_plans_nothing(make: Callable[[], Any], tmp_path: Path) -> None:
    source = make()
    assert batches(source, tmp_path, most=3) == []
    assert planned_source(source) is None
    assert source.backlog(None, tmp_path) is None


@pytest.mark.parametrize("make", [*READ_BY_SPLITS.values()], ids=[*READ_BY_SPLITS])
def test_splits_have_each_tuple_once_in_order_and_again_when_a_batch_runs_again(
    make: Callable[[Path], ps.sources.SourcePort], tmp_path: Path
) -> None:
    source = make(tmp_path)
    assert [name for name in MEMBERS if name in lacking(source)] == []
    first = batches(source, tmp_path / "log", most=4)
    splits = [split for batch in first for split in batch]
    assert len(first) >= 2
    assert [row for split in splits for row in rows_of(source, split)] == TABLE.to_pylist()
    numbers = [split.first for split in splits]
    assert numbers == sorted(set(numbers))
    assert batches(source, tmp_path / "log", most=4) == first
    assert all(len(source.arrivals(batch, tmp_path / "log")) == len(batch) for batch in first)


@pytest.mark.parametrize("make", [csv, parquet], ids=["csv", "parquet"])
def test_a_copy_in_another_process_plans_and_reads_the_same(
    make: Callable[[Path], ps.sources.SourcePort], tmp_path: Path
) -> None:
    source = make(tmp_path)
    other = pickle.loads(pickle.dumps(source))
    mine, theirs = batches(source, tmp_path / "mine", most=4), batches(other, tmp_path / "theirs", most=4)
    assert [rows_of(source, split) for batch in mine for split in batch] == [
        rows_of(other, split) for batch in theirs for split in batch
    ]


@pytest.mark.parametrize("make", [csv, parquet], ids=["csv", "parquet"])
def test_files_are_at_their_end_when_all_that_are_there_were_taken(make: Callable[[Path], Any], tmp_path: Path) -> None:
    source, log = make(tmp_path), tmp_path / "log"
    first = source.latest(None, ps.sources.Planning(log, 4, time_s=1.0))
    assert not source.is_at_end(first, log)
    last = source.latest(first, ps.sources.Planning(log, 100, time_s=1.0))
    assert source.is_at_end(last, log)
    newest = max(tmp_path.glob("*.*"))
    newest.with_stem("later").write_bytes(newest.read_bytes())
    assert not source.is_at_end(last, log)


def test_the_class_of_a_source_in_place_of_an_object_has_a_hint() -> None:
    app = ps.Application("class")
    app.source("in", type(ps.sources.csv("in.csv")), SCHEMA).sink("out")  # type: ignore[arg-type]
    with pytest.raises(ps.errors.ApplicationError, match=r"it is a class: give an object of it, CsvSource\(\.\.\.\)"):
        ps.evaluate(app)
