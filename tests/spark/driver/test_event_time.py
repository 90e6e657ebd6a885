"""Event time on Spark: sources of several partitions, and what is refused before anything counts."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors.trace.source import TraceSource
from penstock.errors import InputError
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from tests.spark.connectors.test_row_sources import csv


def counted(source: Any, session: SparkSession, **settings: Any) -> ps.Application:
    app = ps.Application("counted")
    ticks = app.source("ticks", source, **settings)
    ticks.aggregate("bars", window=ps.tumbling(time_s=0.2, on="timestamp"), emit={"n": "count()"}).sink("out")
    return app


def ran_until(handle: ps.Handle, tuples: int, timeout_s: float = 90) -> Any:
    """The results once so many tuples were taken."""
    deadline = time.monotonic() + timeout_s
    while sum(own.tuples_in for own in handle.result.observations) < tuples and time.monotonic() < deadline:
        assert not handle.wait(0.2)
        handle.observe()
    return handle.stop()


def test_time_windows_over_the_partitions_of_a_rate_are_refused_at_the_start(session: SparkSession) -> None:
    app = counted(ps.sources.rate(2000), session)
    with pytest.raises(
        InputError, match=r"source 'ticks' has 2 partitions, .* event_time=\"timestamp\" and out_of_order_s="
    ):
        ps.start(app, session=session)


def test_time_windows_over_the_partitions_of_a_dataframe_fail_before_anything_counts(
    session: SparkSession, tmp_path: Any
) -> None:
    frame = session.readStream.format("rate").option("rowsPerSecond", 2000).option("numPartitions", 2).load()
    handle = ps.start(counted(ps.sources.dataframe(frame), session), session=session, checkpoint=tmp_path / "c")
    with pytest.raises(InputError, match=r"source 'ticks' has 2 partitions, .* event_time=\"...\" and out_of_order_s="):
        handle.wait(60)
    handle.stop()
    assert not list((tmp_path / "c" / "manifests").glob("*[1-9].manifest"))
    assert handle.result.dead_letter_count == 0


def test_a_dataframe_of_one_partition_needs_no_bound(session: SparkSession) -> None:
    frame = session.readStream.format("rate").option("rowsPerSecond", 2000).option("numPartitions", 1).load()
    handle = ps.start(counted(ps.sources.dataframe(frame), session), session=session)
    result = ran_until(handle, 4_000)
    assert result.dead_letter_count == 0
    assert set(result.tables["out"].column("n").to_pylist()[1:]) == {400}


@pytest.mark.parametrize("by", [None, "k"])
def test_every_tuple_of_all_partitions_is_counted_with_an_event_time(session: SparkSession, by: str | None) -> None:
    app = ps.Application("counted")
    ticks = app.source("ticks", ps.sources.rate(2000), event_time="timestamp", out_of_order_s=1.0)
    keyed = ticks.functor("keyed", emit={"k": "value % 7", "value": "value", "timestamp": "timestamp"})
    emit = {"n": "count()", "from": "min(value)", "to": "max(value)"}
    keyed.aggregate("bars", window=ps.tumbling(time_s=0.2, on="timestamp"), by=by, emit=emit).sink("out")
    result = ran_until(ps.start(app, session=session), 8_000)
    assert result.dead_letter_count == 0
    rows = result.tables["out"].to_pylist()
    counted = sum(row["n"] for row in rows)
    assert counted > 4_000
    assert min(row["from"] for row in rows) == 0
    assert max(row["to"] for row in rows) == counted - 1  # no number is missing below the highest


def test_a_slower_source_without_a_bound_loses_nothing_beside_one_with_a_bound(
    session: SparkSession, tmp_path: Path
) -> None:
    schema = {"t": "float64", "n": "int64"}

    def application(fast: Any, slow: Any) -> ps.Application:
        app = ps.Application("mixed")
        one = app.source("fast", fast, schema, event_time="t", out_of_order_s=1.0, stamp="n")
        two = app.source("slow", slow, schema, event_time="t", stamp="n")
        emit = {"end": "window_end()", "all": "collect(n)"}
        one.union("both", two).aggregate("bars", window=ps.tumbling(time_s=2, on="t"), emit=emit).sink("out")
        return app

    given = {"fast": [(i * 0.2, i) for i in range(200)], "slow": [(i * 0.1, i) for i in range(200)]}
    for name, rows in given.items():
        csv(tmp_path / name, "0.csv", "t,n\n" + "".join(f"{t!r},{n}\n" for t, n in rows))
    columns = {name: {"t": [t for t, _ in rows], "n": [n for _, n in rows]} for name, rows in given.items()}
    frame = session.readStream.schema("t double, n long").option("header", True).csv(str(tmp_path / "slow"))
    app = application(ps.sources.csv(tmp_path / "fast"), ps.sources.dataframe(frame))
    result = ran_until(ps.start(app, session=session), 400)
    assert result.dead_letter_count == 0
    expected = ps.evaluate(application(None, None), columns)["out"].slice(0, 9)  # the slower one has come to 19.9 s
    assert result.tables["out"].equals(expected.cast(result.tables["out"].schema))


def test_a_far_future_timestamp_ends_no_windows(session: SparkSession, tmp_path: Path) -> None:
    now = dt.datetime.now(dt.UTC).replace(tzinfo=None, microsecond=0)
    app = ps.Application("future")
    schema = {"t": "timestamp", "n": "int64"}
    source = app.source("in", ps.sources.csv(tmp_path / "in"), schema, event_time="t", out_of_order_s=0)
    source.aggregate("bars", window=ps.tumbling(time_s=1, on="t"), emit={"n": "count()"}).sink("out")
    (tmp_path / "in").mkdir()
    handle = ps.start(app, session=session)
    for i in range(4):
        future = now + dt.timedelta(days=4000) if i == 1 else now + dt.timedelta(seconds=i, milliseconds=500)
        rows = [f"{now + dt.timedelta(seconds=i)},0", f"{future},1"]
        csv(tmp_path / "in", f"{i}.csv", "t,n\n" + "\n".join(rows) + "\n")
    result = ran_until(handle, 8)
    assert result.tables["out"].column("n").to_pylist() == [2, 1, 2]
    (letter,) = result.dead_letters.to_pylist()
    assert letter["operator"] == "in"
    assert letter["reason"].startswith("has an event time 't' more than 86400 s ahead")


def test_a_source_that_falls_silent_holds_the_other_only_until_it_is_idle(
    session: SparkSession, tmp_path: Path
) -> None:
    app = ps.Application("silent")
    schema = {"s": "float64"}
    busy = app.source("busy", ps.sources.csv(tmp_path / "busy"), schema, stamp="s")
    silent = app.source("silent", ps.sources.csv(tmp_path / "silent"), schema, stamp="s", idle_timeout_s=2)
    busy.union("both", silent).sink("out")
    csv(tmp_path / "busy", "0.csv", "s\n1\n2\n3\n")
    csv(tmp_path / "silent", "0.csv", "s\n1.5\n")
    handle = ps.start(app, session=session)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and handle._sinks.tables()["out"].num_rows < 4:
        assert not handle.wait(0.2)  # nothing more comes: the batch that lets the rest go runs by itself
    result = handle.stop()
    assert result.tables["out"].column("s").to_pylist() == [1.0, 1.5, 2.0, 3.0]


def test_fast_and_slow_sources_without_stamps_hold_nothing_back(session: SparkSession, tmp_path: Path) -> None:
    app = ps.Application("unstamped")
    fast, slow = (app.source(name, ps.sources.csv(tmp_path / name), {"n": "int64"}) for name in ("fast", "slow"))
    fast.union("both", slow).sink("out", ps.sinks.discard())
    csv(tmp_path / "fast", "0.csv", "n\n" + "\n".join(map(str, range(10_000))) + "\n")
    csv(tmp_path / "slow", "0.csv", "n\n" + "\n".join(map(str, range(100))) + "\n")
    result = ran_until(ps.start(app, session=session), 10_100)
    assert result.discarded["out"][0] == 10_100


@pytest.mark.parametrize("files", [1, 7, 20])
def test_permutations_over_files_cut_into_any_batches_equal_the_evaluation(
    session: SparkSession, tmp_path: Path, files: int
) -> None:
    rng = random.Random(files)
    rows = [{"k": rng.randrange(5), "t": i * 0.01, "n": i} for i in range(4_000)]
    mixed = sorted(rows, key=lambda row: row["t"] + rng.random() * 1.9)
    schema = {"k": "int64", "t": "float64", "n": "int64"}

    def application(connector: Any) -> ps.Application:
        app = ps.Application("files")
        source = app.source("in", connector, schema, event_time="t", out_of_order_s=2.0)
        emit = {"k": "any(k)", "end": "window_end()", "all": "collect(n)", "first": "first(n)", "t": "sum(t)"}
        source.aggregate("bars", window=ps.tumbling(time_s=1, on="t"), by="k", emit=emit).sink("out")
        return app

    edges = [len(mixed) * i // files for i in range(files + 1)]
    for i, (start, stop) in enumerate(itertools.pairwise(edges)):
        lines = [f"{row['k']},{row['t']!r},{row['n']}" for row in mixed[start:stop]]
        csv(tmp_path / "in", f"{i:03d}.csv", "k,t,n\n" + "\n".join(lines) + "\n")
    app = application(ps.sources.csv(tmp_path / "in", files_per_batch=rng.choice([1, 3])))
    graph = app.graph
    configuration = default_configuration(pipeline_of(graph), 1 + files % 2)
    result = ran_until(ps.start(app, session=session, configuration=configuration), len(rows))
    columns = {name: [row[name] for row in rows] for name in schema}
    expected = ps.evaluate(application(None), {"in": columns})["out"]
    assert result.dead_letter_count == 0
    got = result.tables["out"]
    assert got.num_rows >= 37 * 5  # the bound of 2 s holds the last windows back
    assert got.equals(expected.slice(0, got.num_rows).cast(got.schema))


def bars(connector: Any) -> ps.Application:
    app = ps.Application("bars")
    schema = None if isinstance(connector, TraceSource) else {"seq": "int64"}
    source = app.source("in", connector, schema, event_time="seq", out_of_order_s=3)
    source.functor("kept", emit={"k": "seq % 3", "seq": "seq"}).aggregate(
        "bars", window=ps.tumbling(time_s=10, on="seq"), by="k", emit={"k": "any(k)", "all": "collect(seq)"}
    ).sink("out")  # fmt: skip
    return app


def test_windows_fire_at_the_end_of_a_trace(session: SparkSession, tmp_path: Path) -> None:
    app = bars(ps.sources.trace(rate="unbounded", total=3_995))
    expected = ps.evaluate(app, at_end="fire")["out"]
    result = ps.run(app, session=session, checkpoint=tmp_path / "c", at_end="fire")
    assert sum(map(len, result.tables["out"].column("all").to_pylist())) == 3_995
    assert result.tables["out"].equals(expected.cast(result.tables["out"].schema))
    again = ps.run(app, session=session, checkpoint=tmp_path / "c", at_end="fire")
    assert again.tables == {}  # it has ended


def test_a_run_over_a_directory_ends_when_all_files_are_read(session: SparkSession, tmp_path: Path) -> None:
    for i in range(5):
        lines = "\n".join(map(str, range(i * 100, i * 100 + 100)))
        csv(tmp_path / "in", f"{i}.csv", f"seq\n{lines}\n")
    app = bars(ps.sources.csv(tmp_path / "in", files_per_batch=2))
    result = ps.run(app, session=session, at_end="fire", duration_s=120)
    assert sum(map(len, result.tables["out"].column("all").to_pylist())) == 500
    expected = ps.evaluate(bars(None), {"in": {"seq": list(range(500))}}, at_end="fire")["out"]
    assert result.tables["out"].equals(expected.cast(result.tables["out"].schema))


def test_a_directory_without_files_ends_at_once(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    result = ps.run(bars(ps.sources.csv(tmp_path / "in")), session=session, at_end="fire", duration_s=60)
    assert result.tables["out"].num_rows == 0


def test_an_end_that_never_comes_is_refused(session: SparkSession) -> None:
    with pytest.raises(InputError, match="at_end='fire' needs sources that end; source 'in' has no end"):
        ps.run(bars(ps.sources.trace(rate="unbounded")), session=session, at_end="fire")
    app = ps.Application("counted")
    source = app.source("in", ps.sources.trace(rate="unbounded", total=10))
    source.aggregate("bars", window=ps.tumbling(count=3), emit={"n": "count()"}).sink("out")
    with pytest.raises(InputError, match="that of operator 'bars' does not; give its sources event_time="):
        ps.run(app, session=session, at_end="fire")
