"""A goal on local Spark: the loop changes a running application, and its output stays the same."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.cli.options.control_options import ControlOptions
from penstock.cli.replay import ReplayRequest, replay_command
from penstock.control.journal.journal import read_journal
from penstock.control.journal.recorded_decision import judged_decisions
from penstock.element.evaluation import evaluate

RATE_TUPLES_S, PERIOD_S = 750, 16.0
TOTAL = int(RATE_TUPLES_S * PERIOD_S)


def asking(wait_ms: float) -> ps.Application:
    """Every window asks a service that answers after a while; the rate doubles in the middle."""
    app = ps.Application("asking")
    source = ps.sources.trace("step", RATE_TUPLES_S, period_s=PERIOD_S, keys=60, seed=3, total=TOTAL)
    window = app.source("quotes", source).aggregate(
        "window", by="ticker", window=ps.sliding(count=5, per_group=True),
        emit={"seq": "last(seq)", "ticker": "any(ticker)", "mean": "avg(price)"},
    )  # fmt: skip
    asked = window.load("ask", wait_ms_per_tuple=wait_ms) if wait_ms else window
    asked.functor("answer", emit={"seq": "seq", "ticker": "ticker", "cents": "mean * 100"}).sink("out")
    return app


def test_the_loop_raises_replicas_for_a_service_and_the_output_is_that_of_one_process(
    session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = asking(2.2)
    result = ps.run(
        app, session=session, checkpoint=tmp_path / "c", goal=ps.throughput(), limits=ps.Limits(max_replicas=4),
        duration_s=300,
    )  # fmt: skip
    used = [len(o.replicas_by_element["window"]) for o in result.observations]
    assert max(used) > 2
    assert max(len(o.replicas_by_element["quotes"]) for o in result.observations) <= 2  # it computes
    assert result.tables["out"].combine_chunks().equals(evaluate(asking(0.0))["out"].combine_chunks())
    run = read_journal(tmp_path / "c" / "journal.jsonl")
    assert (run.start.goal, run.start.limits.max_replicas) == (ps.throughput(), 4)
    decisions = judged_decisions(run)
    assert any(d.decision.requested and d.decision.decided.replicas > d.decision.setting.replicas for d in decisions)
    assert sum(d.outcome is not None and d.decision.expected.rate_tuples_s is not None for d in decisions) > 1
    replay_command(
        ReplayRequest(tmp_path / "c", ControlOptions(policy="ds2", limits=("max_replicas=4",)), as_json=True)
    )
    assert json.loads(capsys.readouterr().out)["steps"] >= len(decisions)


def test_passive_control_recommends_and_leaves_the_application_as_it_is(
    session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = ps.run(
        asking(0.5), session=session, checkpoint=tmp_path / "c", goal=ps.latency(p95_ms=500), policy="static",
        limits=ps.Limits(max_replicas=4), passive=True, duration_s=12,
    )  # fmt: skip
    assert {len(o.replicas_by_element["window"]) for o in result.observations} == {2}
    assert "would go from 2 replicas to 4 replicas" in capsys.readouterr().out
    decisions = judged_decisions(read_journal(tmp_path / "c" / "journal.jsonl"))
    assert decisions
    assert all(d.decision.passive and not d.decision.requested for d in decisions)


def wait_for(handle: ps.Handle, happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < deadline
        handle.wait(0.2)


def test_more_replicas_than_there_are_task_slots_for_are_refused_and_the_checkpoint_stays_free(
    session: SparkSession, tmp_path: Path
) -> None:
    wish = {"session": session, "checkpoint": tmp_path / "c", "goal": ps.throughput()}
    with pytest.raises(
        ps.errors.InputError, match="min_replicas of the limits is 5, but there is capacity for 4, the task slots"
    ):
        ps.start(asking(0.0), limits=ps.Limits(min_replicas=5), **wish)  # type: ignore[arg-type]
    handle = ps.start(asking(0.0), limits=ps.Limits(min_replicas=3), **wish)  # type: ignore[arg-type]
    try:
        wait_for(handle, lambda: handle.checkpoint.newest_plan() is not None)
        assert {element.replicas for element in handle.configuration.elements} == {3}
    finally:
        handle.stop()


def test_a_start_takes_cores_as_the_machine_has_them(session: SparkSession, tmp_path: Path) -> None:
    handle = ps.start(asking(0.0), session=session, checkpoint=tmp_path / "c")
    slower = replace(handle.configuration, frequency_ghz=1.2)
    handle.apply(slower)
    wait_for(handle, lambda: (plan := handle.checkpoint.newest_plan()) is not None and plan.configuration == slower)
    handle.stop()
    again = ps.start(asking(0.0), session=session, checkpoint=tmp_path / "c")
    try:
        assert again.configuration == replace(slower, frequency_ghz=None)
    finally:
        again.stop()
