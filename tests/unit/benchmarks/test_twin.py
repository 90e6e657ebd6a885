"""The benchmark of the twin: what it compares, predicts and reports, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.twin.closed_loop import LEVELS, ClosedLoop, alike, compared, staircase, twin_records, with_fields
from benchmarks.twin.live_runs import RateSteps
from benchmarks.twin.predictions import arriving, fit_of_run, fitted_plant, predicted_latencies, predicted_rate
from benchmarks.twin.scenes import Scene, scenes
from benchmarks.twin.step_fields import StepField, step_fields
from benchmarks.twin.twin import Point, TwinFindings
from benchmarks.twin.twin_report import draw, figures_of, missed, tables
from penstock import twin
from penstock.control.journal.journal import Journal
from penstock.errors import InputError
from penstock.measure.latency_sketch import sketch_of
from penstock.measure.observation import Observation, latency_of
from penstock.simulate.events.model import mean_rate

COSTS = twin.MicroBatchCosts(batch_s=0.05, stage_s=0.0, task_s=0.0, between_s=0.02, noise=0.01, tasks_per_core=8)
SERVICE_S = 1e-4
SCENE = scenes(1)[2]


def run(folder: Path, scene: Scene = SCENE, seconds: float = 30.0) -> Path:
    """The journal of a saturated run on the twin itself, whose tuples wait for a service."""
    names = [own.name for own in scene.configuration(1).elements]
    inputs = [("source",), *((name,) for name in names[:-1])]
    model = twin.Model(
        [twin.Source("source", twin.constant(1e6))],
        [twin.Operator(name, own, twin.constant(SERVICE_S)) for name, own in zip(names, inputs, strict=True)],
    )
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / "journal.jsonl", scene.application("unbounded").name)
    nodes = twin.Nodes((twin.Node("n", cores=16),))
    plant = twin.Plant(model, nodes, scene.configuration(scene.fitted[-1]), end_s=seconds, costs=COSTS)
    for cap in (1_000, 2_000, 4_000):
        for _ in range(15):
            plant.apply(replace(plant.configuration, micro_batch_tuples=cap))
            journal.write(plant.observation(plant.next_batch()), plant.in_force)
    return folder


def test_the_median_of_the_rounds_is_judged_and_the_fitted_run_is_not() -> None:
    found = TwinFindings(
        [Point("a", "1 replica", (90.0, 100.0, 400.0), 104.0), Point("a", "cap", (100.0,), 300.0, is_fitted=True)],
        [Point("a", "at 40%", (1.0,), 1.2)],
        [ClosedLoop((1.0, 2.0, 3.0, 4.0), (2, 3, 3, 4), (2, 3, 4, 4))],
        {"a": ["fitted"]},
    )
    figures = figures_of(found, quick=True)
    assert figures["throughput_error_worst"] == pytest.approx(0.04)
    assert figures["p95_error_worst"] == pytest.approx(0.2)
    assert (figures["decision_agreement"], figures["best_constant_agreement"]) == (0.75, 0.5)
    assert missed(figures) == ["p95_error_worst 0.2 is above 0.15", "decision_agreement 0.75 is below 0.8"]


def test_what_was_not_measured_is_no_goal_reached() -> None:
    assert len(missed(figures_of(TwinFindings(), quick=True))) == 3


def test_tables_and_picture_have_every_point(tmp_path: Path) -> None:
    found = TwinFindings(
        [Point("a", "1 replica", (100.0,), 104.0), Point("a", "cap", (100.0,), 99.0, is_fitted=True)],
        [Point("a", "at 40%", (1.0,), 1.2)],
        [ClosedLoop((1.0, 2.0), (2, 3), (2, 3))],
    )
    assert [table.row_count for table in tables(found)] == [2, 1]
    draw(found, tmp_path / "out" / "twin.svg")
    assert (tmp_path / "out" / "twin.svg").stat().st_size > 1000


def test_steps_of_a_rate_are_judged_by_their_later_part(tmp_path: Path) -> None:
    steps = RateSteps((100.0, 300.0), step_s=10.0, lead_s=5.0)
    lines = steps.write(tmp_path / "steps.csv").read_text().splitlines()
    assert lines == ["seconds,rate", "0,100", "5,100", "15,300", "35,300"]
    with pytest.raises(InputError, match="no micro-batch with results ran in step 1 at 100 tuples/s; there were 0"):
        steps.p95_s([], 0.0)


def test_a_micro_batch_that_is_longer_than_a_step_belongs_to_all_that_it_ran_in() -> None:
    steps = RateSteps((100.0, 300.0), step_s=10.0, lead_s=5.0)
    latency = latency_of(sketch_of(np.array([4000.0]), np.array([1])))
    long = Observation(0, 8.0, 16.0, 10, 10, latency=latency, committed_at_s=24.0)
    assert steps.p95_s([long], 0.0) == pytest.approx([4.0, 4.0], rel=0.02)


def test_a_staircase_has_its_levels() -> None:
    load = staircase(1000.0, 2.0)
    seen = [load.arrivals.arrived_by(2.0 * n + 2.0) - load.arrivals.arrived_by(2.0 * n) for n in range(len(LEVELS))]
    assert seen == pytest.approx([2000 * level for level in LEVELS], rel=0.02)
    assert load.end_s == 2.0 * len(LEVELS)


def test_a_fit_predicts_the_run_that_it_learned_from_and_other_replicas(tmp_path: Path) -> None:
    scene = scenes(1)[0]
    fit = fit_of_run(scene, run(tmp_path, scene))
    for replicas, in_turn in ((1, 1), (2, 2), (4, 2)):  # computing, on two cores
        # A saturated micro-batch takes its fixed part, the pause before it, and each stage.
        took_s = 0.07 + SERVICE_S * 4_000 / 2 + SERVICE_S * 4_000 / in_turn
        assert predicted_rate(scene, fit, replicas, 4_000) == pytest.approx(4_000 / took_s, rel=0.08)


def test_latency_grows_with_the_rate(tmp_path: Path) -> None:
    fit = fit_of_run(SCENE, run(tmp_path))
    highest = predicted_rate(SCENE, fit, SCENE.late, 4_000)
    steps = RateSteps(tuple(share * highest for share in (0.4, 0.8)), step_s=10.0, lead_s=3.0)
    low, high = predicted_latencies(SCENE, fit, 100_000, steps)
    assert 0.05 < low < high


def test_arrivals_are_shared_by_the_sources_as_they_were(tmp_path: Path) -> None:
    fit = fit_of_run(SCENE, run(tmp_path))
    model = arriving(fit, [100.0, 800.0], [1.0, 2.0])
    assert sum(mean_rate(own.arrivals, 1) for own in model.sources) == pytest.approx(300.0)
    plant = fitted_plant(fit, model, fit.configuration, 3.0)
    assert plant.batches.arrived() == 0


def test_the_controller_runs_on_the_twin_and_agrees_with_itself(tmp_path: Path) -> None:
    fit = fit_of_run(SCENE, run(tmp_path))
    capacity = predicted_rate(SCENE, fit, 8, 4_000)
    load = staircase(capacity, 4.0)
    records = twin_records(SCENE, fit, load, capacity)
    assert compared(records, [records], load.end_s).agreement == 1.0
    late = compared(records, [records[:1]], load.end_s)
    assert set(late.simulated) == {records[0].seen.setting.replicas}
    assert np.ptp(late.live) > 0


def test_the_median_of_several_runs_is_the_prediction(tmp_path: Path) -> None:
    fit = fit_of_run(SCENE, run(tmp_path))
    capacity = predicted_rate(SCENE, fit, 8, 4_000)
    load = staircase(capacity, 3.0)
    one, other = (twin_records(SCENE, fit, load, capacity, seed) for seed in (1, 2))
    assert compared(one, [one, other, one], load.end_s).agreement == 1.0
    expected = (compared(one, [other], load.end_s).agreement + compared(other, [one], load.end_s).agreement) / 2
    assert alike([one, other], load.end_s) == pytest.approx(expected)
    assert alike([one], load.end_s) is None


def test_the_twin_under_the_replicas_of_another_run_is_compared_field_by_field(tmp_path: Path) -> None:
    fit = fit_of_run(SCENE, run(tmp_path))
    capacity = predicted_rate(SCENE, fit, 8, 4_000)
    load = staircase(capacity, 4.0)
    live = twin_records(SCENE, fit, load, capacity)
    slower = replace(fit, costs=replace(fit.costs, batch_s=2 * fit.costs.batch_s))
    under = twin_records(SCENE, slower, load, capacity, seed=2, like=live)
    loop = with_fields(compared(live, [under], load.end_s), live, under, load.end_s)
    fields = {own.name: own for own in loop.fields}
    assert loop.agreement > 0.9
    assert fields["overhead_s"].bias == pytest.approx(1.0, abs=0.35)
    assert abs(fields["rate_tuples_s"].bias or 0.0) < 0.1, "its steps begin at other moments"
    (body,) = figures_of(TwinFindings(loops=[loop]), quick=True)["loops"]
    assert {own["field"] for own in body["fields"]} == set(fields)
    assert tables(TwinFindings(loops=[loop]))[-1].row_count == len(fields)


def test_a_field_differs_from_where_it_is_far_off_in_several_steps_in_a_row() -> None:
    own = StepField("a", (1.0, 2.0, 3.0, 4.0, 5.0), (1.0, 1.0, 1.0, 1.0, None), (2.0, 1.1, 2.0, 2.0, 2.0))
    assert own.differs_from_s is None
    longer = replace(own, live=(1.0, 1.0, 1.0, 1.0, 1.0))
    assert longer.differs_from_s == 3.0
    assert longer.off == pytest.approx(1.0)
    assert longer.bias == pytest.approx(0.82)
    assert step_fields([], [], 1.0) == ()
