"""Parquet sinks: folders by date or attribute, many batches in one file, and no listing at every batch."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.app.serialise import graph_from_json, graph_to_json
from penstock.block.block import block_of
from penstock.connectors.files.layout.partitions import NO_VALUE
from penstock.connectors.port import BatchId
from penstock.errors import ApplicationError, CorruptStateError, InputError

SCHEMA = pa.schema({"at": pa.float64(), "ticker": pa.string(), "n": pa.int64()})
DAY_S = 86_400.0


def rows(batch: int, count: int = 6) -> pa.Table:
    """Two days and three tickers; `n` tells each row from all others."""
    numbers = range(batch * count, (batch + 1) * count)
    return pa.table(
        {"at": [DAY_S * (n % 2) for n in numbers], "ticker": ["ABC"[n % 3] for n in numbers], "n": list(numbers)},
        schema=SCHEMA,
    )


def staged(sink: Any, batch: int, table: pa.Table | None = None, *, replica: int = 0, attempt: int = 1) -> str:
    part = ps.sinks.Part("out", SCHEMA, BatchId(batch, "run"), 1, replica, attempt)
    opened = sink.open(part)
    sink.write(opened, block_of(rows(batch) if table is None else table, SCHEMA))
    closed: str = opened.close()
    return closed


def delivery(batch: int, *parts: str, may_replace: bool = True) -> ps.sinks.Delivery:
    return ps.sinks.Delivery("out", SCHEMA, BatchId(batch, "run"), parts, may_replace=may_replace)


def numbers(folder: Path) -> list[int]:
    """What a reader sees who knows nothing of Penstock."""
    if not visible(folder):
        return []
    found = pyarrow.dataset.dataset(folder, format="parquet", partitioning="hive", ignore_prefixes=[".", "_"])
    return sorted(found.to_table()["n"].to_pylist())


def visible(folder: Path) -> list[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*.parquet"))
    return sorted(str(path) for path in found if ".penstock" not in path.parts)


def test_folders_are_by_date_and_attribute_as_others_read_them(tmp_path: Path) -> None:
    sink = ps.sinks.parquet(tmp_path, partition_by=["date(at)", "ticker"])
    sink.publish(delivery(7, staged(sink, 7)))
    assert visible(tmp_path)[0] == "at_date=1970-01-01/ticker=A/batch-000000000007-replica-0000.parquet"
    found = pyarrow.dataset.dataset(tmp_path, partitioning="hive", ignore_prefixes=[".", "_"]).to_table()
    got = sorted((row["n"], row["ticker"], row["at"], str(row["at_date"])) for row in found.to_pylist())
    days = ("1970-01-01", "1970-01-02")
    assert got == [(n, "ABC"[n % 3], DAY_S * (n % 2), days[n % 2]) for n in range(42, 48)]


@pytest.mark.parametrize(
    ("values", "type_", "folders"),
    [
        (["a/b", None, "..", "x y", "é"], pa.string(), ["a%2Fb", NO_VALUE, "%2E.", "x y", "%C3%A9"]),
        (["", "a"], pa.string(), [NO_VALUE, "a"]),
        ([1, -1, None], pa.int64(), ["1", "-1", NO_VALUE]),
        ([True, False], pa.bool_(), ["true", "false"]),
        (["a", "b"], pa.dictionary(pa.int32(), pa.string()), ["a", "b"]),
    ],
)  # fmt: skip
def test_any_value_is_one_folder_below_the_sink(
    tmp_path: Path, values: list[Any], type_: pa.DataType, folders: list[str]
) -> None:
    schema = pa.schema({"k": type_, "n": pa.int64()})
    sink = ps.sinks.parquet(tmp_path / "out", partition_by="k")
    part = ps.sinks.Part("out", schema, BatchId(0, "run"), 1, 0, 1)
    opened = sink.open(part)
    table = pa.table({"k": pa.array(values, pa.string() if type_ == pa.dictionary(pa.int32(), pa.string()) else type_),
                      "n": range(len(values))})  # fmt: skip
    sink.write(opened, block_of(table.cast(schema), schema))
    sink.publish(replace(delivery(0, opened.close()), schema=schema))
    assert sorted(p.parent.name for p in map(Path, visible(tmp_path / "out"))) == sorted(f"k={own}" for own in folders)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_days_are_in_utc_and_what_is_no_time_has_none(tmp_path: Path) -> None:
    sink = ps.sinks.parquet(tmp_path, partition_by="date(at)")
    times = [DAY_S - 0.001, DAY_S, -0.5, float("nan"), float("inf")]
    table = pa.table({"at": times, "ticker": ["A"] * 5, "n": range(5)}, schema=SCHEMA)
    sink.publish(delivery(0, staged(sink, 0, table)))
    assert sorted(path.split("/")[0] for path in visible(tmp_path)) == [
        "at_date=1969-12-31", "at_date=1970-01-01", "at_date=1970-01-02", "at_date=__HIVE_DEFAULT_PARTITION__",
    ]  # fmt: skip


def test_a_partitioned_delivery_that_was_cut_off_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = ps.sinks.parquet(tmp_path, partition_by="ticker")
    part, replaced, calls = staged(sink, 3), os.replace, []

    def dying(*paths: Any) -> None:
        calls.append(paths)
        if len(calls) == 2:
            raise KeyboardInterrupt
        replaced(*paths)

    monkeypatch.setattr(os, "replace", dying)
    with pytest.raises(KeyboardInterrupt):
        sink.publish(delivery(3, part))
    monkeypatch.undo()
    for _ in range(2):
        sink.publish(delivery(3, part))
        assert numbers(tmp_path) == list(range(18, 24))
    sink.sweep(ps.sinks.Sweep(before_batch=4))
    assert list((tmp_path / ".penstock").iterdir()) == []
    with pytest.raises(CorruptStateError, match="which the manifest of micro-batch 3 names, are gone"):
        sink.publish(delivery(3, part))


def test_a_partitioned_batch_that_ran_again_leaves_nothing_of_before(tmp_path: Path) -> None:
    sink = ps.sinks.parquet(tmp_path, partition_by="ticker")
    sink.publish(delivery(0, staged(sink, 0)))
    sink.publish(delivery(1, staged(sink, 1)))
    other = rows(1).filter(pa.compute.equal(rows(1)["ticker"], "B"))
    sink.publish(delivery(1, staged(sink, 1, other, attempt=2)))
    assert numbers(tmp_path) == sorted([*range(6), *other["n"].to_pylist()])


def kinds() -> dict[str, dict[str, Any]]:
    return {"plain": {}, "by ticker": {"partition_by": "ticker"}, "ordered": {"ordered": True}}


@pytest.mark.parametrize("kind", kinds())
def test_some_batches_become_one_file(tmp_path: Path, kind: str) -> None:
    sink = ps.sinks.parquet(tmp_path, compact_files=4, **kinds()[kind])
    for batch in range(10):
        sink.publish(delivery(batch, staged(sink, batch)))
        assert numbers(tmp_path) == list(range(6 * (4 * ((batch + 1) // 4)))), "whole files, or none"
    partitions = 3 if kind == "by ticker" else 1
    assert len(visible(tmp_path)) == 2 * partitions
    sink.sweep(ps.sinks.Sweep(before_epoch=2))  # the run ends
    assert numbers(tmp_path) == list(range(60))
    assert visible(tmp_path)[-1].endswith("batch-000000000008-to-000000000009.parquet")
    for batch in range(10, 16):  # and goes on
        sink.publish(delivery(batch, staged(sink, batch)))
    assert numbers(tmp_path) == list(range(96))


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("what", ["os.replace", "pathlib.Path.unlink", "pyarrow.parquet.ParquetWriter.close"])
def test_a_merge_that_is_cut_off_anywhere_loses_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, what: str
) -> None:
    """Killed at each call in turn; the next driver sweeps, and delivers the newest batch again."""
    for moment in range(40):
        folder = tmp_path / str(moment)
        sink = ps.sinks.parquet(folder, compact_files=3, **kinds()[kind])
        parts: dict[int, str] = {}
        left = iter(range(moment, -1, -1))
        module, _, name = what.rpartition(".")
        owner: Any = {"os": os, "pathlib.Path": Path, "pyarrow.parquet.ParquetWriter": pq.ParquetWriter}[module]
        method: Callable[..., Any] = getattr(owner, name)

        def dying(*given: Any, method: Any = method, left: Any = left, **named: Any) -> Any:
            if next(left, 1) == 0:
                raise KeyboardInterrupt
            return method(*given, **named)

        batch = 0
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, dying)
            try:
                for batch in range(3):
                    parts[batch] = staged(sink, batch)
                    sink.publish(delivery(batch, parts[batch]))
                is_killed = False
            except KeyboardInterrupt:
                is_killed = True
        sink.sweep(ps.sinks.Sweep(before_epoch=2, excluded=frozenset(parts.values())))
        for later in range(batch, 6):
            sink.publish(delivery(later, parts.get(later) or staged(sink, later)))
        sink.sweep(ps.sinks.Sweep(before_epoch=3))
        assert numbers(folder) == list(range(36)), moment
        if not is_killed:
            return
    raise AssertionError("it was killed every time")


def test_a_folder_with_many_files_is_not_listed_at_every_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1.7 million files a day, each listing would take longer than the one before."""
    for options in ({}, {"partition_by": "ticker"}, {"compact_files": 3}):
        folder = tmp_path / str(len(options) + len(str(options)))
        sink = ps.sinks.parquet(folder, **options)  # type: ignore[arg-type]
        sink.publish(delivery(0, staged(sink, 0)))
        listed: list[str] = []

        def noted(path: Any = ".", listed: list[str] = listed, scandir: Any = os.scandir) -> Any:
            listed.append(os.readlink(f"/proc/self/fd/{path}") if isinstance(path, int) else str(path))
            return scandir(path)

        with monkeypatch.context() as patch:
            patch.setattr(os, "scandir", noted)
            patch.setattr(os, "listdir", noted)
            for batch in range(1, 7):
                sink.publish(delivery(batch, staged(sink, batch), may_replace=False))
        assert [path for path in listed if ".penstock" not in path] == []


def test_keys_that_cannot_be_are_refused(tmp_path: Path) -> None:
    def problem(*keys: str) -> str:
        app = ps.Application("a")
        source = app.source("in", ps.sources.trace("unbounded", total=1)).functor(
            "f", emit={"at": "price", "ticker": "ticker", "x": "volume"}
        )
        source.sink("out", ps.sinks.parquet(tmp_path, partition_by=keys))
        with pytest.raises(ApplicationError) as raised:
            _ = app.graph
        return str(raised.value)

    assert (
        "is partitioned by 'tickr', which its input does not have; it has: at, ticker, x; did you mean 'ticker'?"
        in (problem("tickr"))
    )
    assert "is partitioned by 'x' of type double; a partition is by text, whole numbers, booleans or dates" in problem(
        "x"
    )
    assert "is partitioned by 'date(ticker)' of type" in problem("date(ticker)")
    with pytest.raises(InputError, match="compact_files"):
        ps.sinks.parquet(tmp_path, compact_files=1)


def test_options_survive_being_stored(tmp_path: Path) -> None:
    app = ps.Application("a")
    sink = ps.sinks.parquet(tmp_path, partition_by=["ticker"], compact_files=5)
    app.source("in", ps.sources.trace("unbounded", total=1)).sink("out", sink)
    assert graph_from_json(graph_to_json(app.graph)).sinks[0].connector == sink


def test_finite_input_is_partitioned_and_never_waits(tmp_path: Path) -> None:
    app = ps.Application("a")
    sink = ps.sinks.parquet(tmp_path, partition_by="ticker", compact_files=5)
    app.source("in", ps.sources.trace("unbounded", total=50, keys=3)).sink("out", sink)
    written = ps.evaluate(app).written
    assert len(written) == len(visible(tmp_path)) == 3
    assert sum(pq.read_metadata(path).num_rows for path in written) == 50
