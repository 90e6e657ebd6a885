"""What benchmark `saso` does on Spark, without Spark: loads as files, rivals, records, verdicts, the report."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.saso.live.comparisons import SparkCase, SparkComparison, best_rivals
from benchmarks.saso.live.loads import spark_loads, write_trace
from benchmarks.saso.live.report import live_summary, print_live, print_spark, spark_summary
from benchmarks.saso.live.run import Controlled, Watched, as_a_user_gets_it, since
from benchmarks.saso.live.scenarios import LiveOutcome, lives
from benchmarks.saso.metrics import saso
from benchmarks.saso.policies import rivals
from benchmarks.saso.saso import Comparison, compare
from penstock.connectors.trace.source import TraceSource
from penstock.control.control_step import ControlStep
from penstock.control.goals.goal import throughput
from penstock.control.goals.limits import Limits
from penstock.control.loop.control_request import ASSUMED_PAUSE_S
from penstock.control.loop.loop import Record
from penstock.control.mpc.live import LiveMpc
from penstock.control.rivals.thresholds import Thresholds
from penstock.control.setting import Grid, Setting
from tests.unit.benchmarks.test_saso import case, figures

CAPACITY = 10_000.0


def step(number: int, replicas: int, ended_at_s: float = 0.0) -> ControlStep:
    return ControlStep(
        number, ended_at_s or 100.0 + number, 1.0, Setting(replicas), 1000.0, 1000.0, 10.0, 0.5, latency_mean_s=0.2
    )


def spark_case(tmp_path: Path) -> SparkCase:
    load = spark_loads(CAPACITY, 3, 20.0, [], tmp_path)[0]
    return SparkCase("computing", load, throughput(), 2, CAPACITY, None)


def test_loads_are_as_long_as_asked_for_and_sped_up(tmp_path: Path) -> None:
    walk, day, own = spark_loads(CAPACITY, 3, 20.0, [], tmp_path)
    assert [load.end_s for load in (walk, day, own)] == [20.0] * 3
    assert (walk.speed_up, day.speed_up, own.speed_up) == (180.0, 1170.0, 3600.0)
    assert walk.arrivals.arrived_by(20.0) / 20 == pytest.approx(0.4 * CAPACITY, rel=0.01)
    rates = np.diff([own.arrivals.arrived_by(t) for t in range(21)])
    assert 0.8 * CAPACITY < rates.max() < 0.9 * CAPACITY
    assert rates.min() < rates.max() / 2


def test_a_load_and_its_file_bring_the_same_tuples(tmp_path: Path) -> None:
    for load in spark_loads(CAPACITY, 3, 20.0, [], tmp_path):
        path = write_trace(load, tmp_path / "load.csv", lead_s=4.0)
        trace = TraceSource((str(path),), None).open()
        led = trace.arrived_by(4.0)
        assert led == pytest.approx(4 * load.arrivals.arrived_by(1.0), abs=1)
        assert trace.total is not None
        for moment_s in (0.5, 7.0, 19.75, 20.0):
            arrived = trace.total if moment_s == 20.0 else trace.arrived_by(4.0 + moment_s)
            assert arrived - led == pytest.approx(load.arrivals.arrived_by(moment_s), abs=80)  # pieces are rounded


def test_rivals_are_the_best_two_of_the_queue_model_at_their_best_settings(tmp_path: Path) -> None:
    own = spark_case(tmp_path)
    found = compare(replace(case(), load=replace(case().load, end_s=8.0)), quick=True)
    assert found.case.name == own.name
    cheap = {"kubernetes hpa": 5.0, "thresholds": 4.0}
    best = tuple(
        replace(r, violations=0, mean_replicas=next((cheap[n] for n in cheap if r.policy.startswith(n)), 9.0))
        for r in found.best
    )
    (first, thresholds), (second, hpa) = best_rivals(own, [replace(found, published=(), best=best)])
    assert first == f"high {thresholds.high:g}, low {thresholds.low:g}"
    assert thresholds.name == f"thresholds {thresholds.high:g}/{thresholds.low:g}" != "thresholds 0.9/0.8"
    assert second.startswith(f"target {hpa.target:g}, ")
    assert thresholds.bounds.highest == hpa.bounds.highest == own.highest_replicas


def test_every_rival_may_be_among_the_best_two(tmp_path: Path) -> None:
    own = spark_case(tmp_path)
    moving = [rival for rival in rivals(12) if rival.tried and rival.policy.name != "static"]
    for rival in moving:
        for setting, policy in rival.variants(20.0, quick=True)[1:]:
            tuned = figures(policy=policy.name, setting=setting)
            ((found, chosen),) = best_rivals(own, [Comparison(case(), tuned, tuned, tuned, (), (tuned,), {})])
            assert (found, chosen.name, type(chosen)) == (setting, policy.name, type(policy))


def test_a_load_that_the_queue_model_was_not_asked_about_has_rivals_as_published(tmp_path: Path) -> None:
    found = best_rivals(spark_case(tmp_path), [])
    assert [(setting, policy.name) for setting, policy in found] == [
        ("published", "ds2"),
        ("published", "flink autoscaler"),
    ]


def test_mpc_is_what_a_user_gets() -> None:
    limits = Limits(max_replicas=8, max_micro_batch_tuples=20_000)
    policy = as_a_user_gets_it("mpc", throughput(), limits, 8, 20_000)
    assert isinstance(policy, LiveMpc)
    assert policy.mpc.grid == Grid(tuple(range(1, 9)), caps_tuples=(312, 1250, 5000, 20_000))
    assert (policy.mpc.pause_s, policy.mpc.interval_s) == (ASSUMED_PAUSE_S, 0.0)
    rival = Thresholds()
    assert as_a_user_gets_it(rival, throughput(), limits, 8, 20_000) is rival


def test_a_watched_policy_decides_as_it_would_and_its_records_tell_changes() -> None:
    watched, plain = Watched(Thresholds()), Thresholds()
    state, other = watched.start(), plain.start()
    for seen in (step(1, 2), step(2, 2), step(3, 4)):
        state, decision = watched.decide(state, seen)
        other, wanted = plain.decide(other, seen)
        assert decision == wanted
    assert [r.seen.ended_at_s for r in since(watched.records(), 101.5)] == [0.5, 1.5]
    assert [r.requested for r in watched.records()] == [None, Setting(4), None]
    found = saso(watched.name, "", watched.records(), throughput(), Grid((1, 2, 3, 4)))
    assert (found.reconfigurations, found.amplitude) == (1, 2.0)


def controlled(replicas: dict[int, int], dead_letters: int = 0, behind: range = range(0)) -> Controlled:
    """A run of a second's steps; `replicas` from those seconds on, much waiting in the seconds `behind`."""
    watched, now, state = Watched(Thresholds()), 1, Thresholds().start()
    for second in range(1, 80):
        now = replicas.get(second, now)
        waiting = 5000.0 if second in behind else 10.0
        state, _ = watched.decide(state, replace(step(second, now, 1000.0 + second), backlog_tuples=waiting))
    records = since(watched.records(), 1000.0)
    found = saso("mpc", "", records, throughput(), Grid(tuple(range(1, 9))))
    return Controlled(found, records, (3, 77), dead_letters)


def test_live_situations_are_judged_by_replicas_and_backlog_over_time() -> None:
    spike, slow = lives()
    good, flap = controlled({18: 7, 55: 2}), controlled({16: 8, 18: 1, 45: 8, 55: 1})
    assert LiveOutcome(spike, good).passes
    assert not LiveOutcome(spike, flap).passes
    assert not LiveOutcome(spike, replace(good, dead_letters=1)).passes
    assert not LiveOutcome(spike, controlled({18: 7, 55: 2}, behind=range(20, 40))).passes
    assert LiveOutcome(slow, controlled({1: 3, 28: 6, 55: 3})).passes
    assert not LiveOutcome(slow, controlled({1: 3, 28: 6})).passes
    assert spike.load().arrivals.arrived_by(70.0) == (40 * 0.3 + 30 * 4.0) * 6250


def test_the_report_has_every_figure_and_says_whether_results_were_equal(tmp_path: Path) -> None:
    run = controlled({18: 7, 55: 2})
    results = (run.saso, replace(run.saso, policy="ds2", setting="headroom 1.2"))
    records: dict[str, list[Record]] = {"mpc": run.records, "ds2": run.records}
    found = SparkComparison(spark_case(tmp_path), results, records, exact=False)
    text = io.StringIO()
    print_spark(Console(file=text, width=160), found)
    print_live(Console(file=text, width=160), LiveOutcome(lives()[0], run))
    assert "results differ" in text.getvalue()
    assert "✓ cold spike, live" in text.getvalue()
    body = spark_summary([found])
    assert body["exact"] is False
    policies = body["cases"]["computing, random_walk, throughput"]["policies"]
    assert set(policies) == {"mpc", "ds2"}
    assert {"reconfigurations", "violations", "amplitude", "settling_steps", "mean_replicas", "watts_estimated"} <= set(
        policies["ds2"]
    )
    assert policies["ds2"]["setting"] == "headroom 1.2"
    assert live_summary([LiveOutcome(lives()[0], run)])["cold spike, live"]["passes"] is True


def test_the_goal_is_judged_beside_the_rivals_on_spark_too(tmp_path: Path) -> None:
    run = controlled({18: 7, 55: 2})
    changes = run.saso.reconfigurations
    lavish = replace(run.saso, policy="ds2", mean_replicas=run.saso.mean_replicas + 1, reconfigurations=changes + 1)
    calmer = replace(run.saso, policy="hpa", reconfigurations=changes)
    reached = SparkComparison(spark_case(tmp_path), (run.saso, lavish), {}, exact=True)
    missed = SparkComparison(spark_case(tmp_path), (run.saso, lavish, calmer), {}, exact=True)
    text = io.StringIO()
    for found in (reached, missed):
        print_spark(Console(file=text, width=160), found)
    assert "goal reached beside 1 of 1 rivals" in text.getvalue()
    assert f"missed: {changes} changes, hpa {changes}" in text.getvalue()
    assert spark_summary([reached, missed])["cases_reached"] == 1


def test_an_unknown_part_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["saso", "--only", "spork"])
    assert ended.value.code == 2
    sentence = "--only is one of comparisons, paper, situations, spark, live; got 'spork'"
    assert sentence in " ".join(capsys.readouterr().err.split())
