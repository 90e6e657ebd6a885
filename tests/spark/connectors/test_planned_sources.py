"""Sources that are read by plan: files cut inside a row group, and a source of a user's own in several partitions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession

import penstock as ps
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import start


@dataclass(frozen=True)
class Ticks:
    """Partition p has the event times p, p + 1, ... seconds; one of them stays behind the other."""

    total: int
    schema = pa.schema([("n", pa.int64()), ("at", pa.float64())])
    promise = "Exactly once: a number always gives the same tuple."

    def problems(self, source: Any) -> Sequence[str]:
        return []

    def latest(self, start: Any, planning: ps.sources.Planning) -> Any:
        return min((start or 0) + planning.most_tuples // 2, self.total)

    def splits(self, start: Any, end: Any, path: Path) -> Sequence[ps.sources.Split]:
        begin = start or 0
        return [ps.sources.Split([begin, end], begin, end - begin, partition) for partition in range(2)]

    def read(self, split: ps.sources.Split, reading: ps.sources.Reading) -> Iterator[pa.Table]:
        numbers = list(range(*split.part))
        yield pa.table({"n": numbers, "at": [float(number + 3 * split.partition) for number in numbers]})

    def backlog(self, after: Any, path: Path) -> float | None:
        return 2.0 * (self.total - (after or 0))

    def arrivals(self, splits: Sequence[ps.sources.Split], path: Path) -> Sequence[float | None]:
        return [None for _ in splits]


def until(handle: Handle, enough: Callable[[], bool], timeout_s: float = 300) -> None:
    deadline = time.monotonic() + timeout_s
    while not enough():
        assert not handle.wait(0.05)
        assert time.monotonic() < deadline


def capped(app: ps.Application, tuples: int) -> ps.Configuration:
    return replace(default_configuration(pipeline_of(app.graph), 2), micro_batch_tuples=tuples, block_rows=100)


def rows_in(folder: Path) -> int:
    return sum(pyarrow.parquet.read_metadata(path).num_rows for path in folder.glob("*.parquet"))


def test_files_cut_inside_a_row_group_go_on_after_a_stop(session: SparkSession, tmp_path: Path) -> None:
    (inbox := tmp_path / "in").mkdir()
    for number in range(3):
        numbers = range(1000 * number, 1000 * (number + 1))
        table = pa.table({"n": numbers, "key": [f"k{n % 7}" for n in numbers], "unread": [1.5] * 1000})
        pyarrow.parquet.write_table(table, inbox / f"{number}.parquet", row_group_size=600)
    (inbox / "9.parquet").write_text("no Parquet at all, though it is called so")
    app = ps.Application("sums")
    schema = {"n": "int64", "key": "string", "unread": "float64"}
    source = app.source("in", ps.sources.parquet(inbox), schema).functor("some", emit={"n": "n", "key": "key"})
    emit = {"n": "last(n)", "key": "any(key)", "sum": "sum(n)", "rows": "count()"}
    window = ps.sliding(count=5_000, every=1, per_group=True)
    source.aggregate("sum", by="key", window=window, emit=emit).sink("out", ps.sinks.parquet(tmp_path / "out"))
    for wanted in (700, 3_000):
        handle = start(
            app, session=session, checkpoint=tmp_path / "c", configuration=capped(app, 250), dead_letters=tmp_path / "d"
        )
        until(handle, lambda wanted=wanted: rows_in(tmp_path / "out") >= wanted)  # type: ignore[misc]
        if wanted == 3_000:
            until(handle, lambda: rows_in(tmp_path / "d") == 1)
        result = handle.stop()
        assert max(seen.tuples_in for seen in result.observations) <= 250
    found = pa.concat_tables([pyarrow.parquet.read_table(path) for path in (tmp_path / "out").glob("*.parquet")])
    (inbox / "9.parquet").unlink()
    expected = ps.evaluate(app)["out"]
    assert sorted(found.to_pylist(), key=lambda row: row["n"]) == expected.to_pylist()
    (letter,) = pyarrow.parquet.read_table(tmp_path / "d").to_pylist()
    assert "which cannot be read as a Parquet file" in letter["reason"]


def test_each_partition_of_a_users_own_source_has_its_watermark(session: SparkSession, tmp_path: Path) -> None:
    app = ps.Application("own")
    ticks = app.source("ticks", Ticks(40), event_time="at", out_of_order_s=1.0, max_ahead_s=None)
    window = ps.tumbling(time_s=10, on="at")
    ticks.aggregate("counts", window=window, emit={"n": "count()", "at": "max(at)"}).sink("out", ps.sinks.memory())
    handle = start(app, session=session, checkpoint=tmp_path / "c", configuration=capped(app, 16))
    until(handle, lambda: sum(seen.tuples_in for seen in handle.result.observations) >= 80)
    result = handle.stop()
    assert result.dead_letter_count == 0
    # Seconds 0..9, 10..19, 20..29 of both partitions; the last window is not over.
    assert result.tables["out"]["n"].to_pylist() == [17, 20, 20]
    assert sum(seen.backlog_tuples or 0 for seen in result.observations[-1:]) == 0
