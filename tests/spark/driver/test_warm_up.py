"""A warm-up takes the path of a batch and leaves no trace; the clock of a trace begins when the stream opens."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.spark.driver import warm_up as warming
from penstock.spark.driver.start import run, start
from penstock.state.checkpoint.checkpoint import WARM_UP, Checkpoint

TUPLES = 600


def windows(folder: Path, seen: list[pa.Table], own: Any = None) -> ps.Application:
    """Tuples that arrive by a schedule, windows by key, a file sink of tasks and a function; maybe code of the user."""
    app = ps.Application("warm")
    trace = ps.sources.trace("constant", 600, total=TUPLES, keys=20, seed=5)
    rows = app.source("quotes", trace).functor("volumes", emit={"ticker": "ticker", "volume": "volume", "seq": "seq"})
    if own is not None:
        rows = rows.map("own", own, {"ticker": "string", "volume": "float64", "seq": "int64"})
    rows.sink("files", ps.sinks.parquet(str(folder)))
    window = ps.sliding(count=4, per_group=True)
    emit = {"ticker": "any(ticker)", "n": "count()", "volume": "sum(volume)", "seq": "max(seq)"}
    rows.aggregate("window", by="ticker", window=window, emit=emit).sink(
        "out", ps.sinks.callback(lambda table, batch: seen.append(table))
    )
    return app


def sorted_rows(tables: list[pa.Table]) -> list[dict[str, Any]]:
    return sorted((row for table in tables for row in table.to_pylist()), key=lambda row: (row["seq"], row["ticker"]))


def expected(folder: Path) -> list[dict[str, Any]]:
    tables = ps.evaluate(windows(folder / "unused", []), {}, engine="inprocess")
    return sorted_rows([tables["out"]])


def test_a_warm_up_leaves_nothing_in_state_sinks_checkpoint_and_meters(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warming, "_PATIENCE_S", 900.0)  # whatever else the machine does
    rounds: list[int] = []
    once = warming._Rehearsal._run_batch
    monkeypatch.setattr(
        warming._Rehearsal, "_run_batch", lambda own, frame, batch: (once(own, frame, batch), rounds.append(batch))
    )
    seen: list[pa.Table] = []
    before_s = time.time()
    result = run(windows(tmp_path / "files", seen), session=session, checkpoint=tmp_path / "c")
    assert len(rounds) == 3  # on one replica, on all task slots, as configured
    assert sorted_rows(seen) == expected(tmp_path)
    assert pq.read_table(tmp_path / "files").num_rows == TUPLES
    assert sum(o.tuples_in for o in result.observations) == TUPLES
    assert result.observations[0].batch == 0
    assert not (tmp_path / "c" / WARM_UP).exists()
    assert {sink for folder, _, files in os.walk(tmp_path / "files") for sink in files if "warm" in sink} == set()
    assert Checkpoint(tmp_path / "c").fixed().started_at_s > before_s


def test_what_a_killed_warm_up_left_is_removed_and_one_that_fails_is_no_failure(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "c" / WARM_UP / "plans"
    left.mkdir(parents=True)
    (left / "000000000000").write_bytes(b"torn")
    (tmp_path / "c" / "id").write_text("0123456789abcdef\n")  # which a start writes before its warm-up

    def broken(own: Any, frame: Any, batch: int) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(warming._Rehearsal, "_run_batch", broken)
    seen: list[pa.Table] = []
    run(windows(tmp_path / "files", seen), session=session, checkpoint=tmp_path / "c")
    assert sorted_rows(seen) == expected(tmp_path)
    assert not (tmp_path / "c" / WARM_UP).exists()


def test_code_of_the_user_sees_no_made_up_tuples(session: SparkSession, tmp_path: Path) -> None:
    calls, ready = tmp_path / "calls", tmp_path / "ready"

    def own(batch: pa.RecordBatch) -> pa.RecordBatch:
        with calls.open("a") as file:
            file.write(f"{batch.num_rows}\n")
        return batch

    own.warm_up = ready.touch  # type: ignore[attr-defined]
    seen: list[pa.Table] = []
    handle = start(windows(tmp_path / "files", seen, own), session=session, checkpoint=tmp_path / "c")
    while not handle.wait(0.1):
        pass
    handle.stop()
    assert sum(map(int, calls.read_text().split())) == TUPLES
    assert ready.exists()
    assert [phase.name for phase in handle.phases.ended][:2] == ["Spark", "warm-up"]
    assert sorted_rows(seen) == expected(tmp_path)
