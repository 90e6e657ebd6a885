"""What a fit learns from a journal: the costs of the simulated run that wrote it; sentences where it cannot."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import twin
from penstock.app.application import graph_of
from penstock.control.journal.journal import Journal
from penstock.control.journal.run_start import RunStart
from penstock.errors import InputError
from penstock.measure.observation import ReplicaObservation
from penstock.plan.configuration import Configuration, check_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.simulate.calibration.element_fit import _ran_s
from penstock.simulate.calibration.lines import growing_line, noise_by_size, with_means
from penstock.simulate.micro_batch.batch_element import BatchElement, Growth, model_configuration

NODES = twin.Nodes((twin.Node("n", cores=8),))
COSTS = twin.MicroBatchCosts(batch_s=0.08, stage_s=0.0, task_s=0.004, noise=0.05, reconfigure_s=0.5, move_s=0.0)


def application(name: str = "prices") -> ps.Application:
    app = ps.Application(name)
    quotes = app.source("quotes", schema={"ticker": "string", "price": "float64"})
    window = ps.sliding(count=4, every=1, per_group=True)
    trades = quotes.functor("trades", where="price > 1")
    trades.aggregate("window", by="ticker", window=window, emit={"top": "max(price)"}).sink("out")
    return app


def model(rate: twin.Draws) -> twin.Model:
    return twin.Model(
        [twin.Source("trades@source", rate)],
        [
            twin.Operator("trades", ("trades@source",), twin.constant(2e-4), selectivity=0.5, replicas=2),
            twin.Operator("window", ("trades",), twin.constant(8e-4), replicas=4),
        ],
    )


def journal(folder: Path, seconds: float = 60.0, name: str = "prices", change: bool = True) -> Path:
    """Of a run on the twin, under a rate that changes, with a change of replicas in its middle."""
    counts = 2000 + 1500 * np.sin(np.arange(int(seconds)) / 3)
    plant = twin.Plant(model(twin.trace(counts)), NODES, Configuration.of(application(), 2), end_s=seconds, costs=COSTS)
    folder.mkdir(parents=True, exist_ok=True)
    written = Journal(folder / "journal.jsonl", name)
    while plant.time_s < seconds:
        if change and plant.time_s > seconds / 2 and plant.configuration.element("window").replicas == 2:
            plant.apply(plant.configuration.with_replicas("window", 4))
        batch = plant.next_batch()
        written.write(plant.observation(batch), plant.in_force)
    return folder


def test_the_costs_of_the_run_are_found(tmp_path: Path) -> None:
    fit = twin.fit_of(application(), journal(tmp_path), None)
    trades, window = fit.elements
    assert trades.service_s == pytest.approx(2e-4, rel=0.05)
    assert window.service_s == pytest.approx(8e-4, rel=0.05)
    assert trades.selectivity == pytest.approx(0.5, rel=0.01)
    assert window.inputs == ("trades",)
    assert fit.costs.batch_s + 2 * fit.costs.task_s == pytest.approx(0.088, rel=0.1)
    assert fit.costs.noise == pytest.approx(0.05, abs=0.03)
    assert fit.costs.reconfigure_s == pytest.approx(0.5, abs=0.1)
    assert fit.rate_tuples_s == pytest.approx(2000, rel=0.1)
    assert fit.configuration.element("window").replicas == 4


@pytest.mark.parametrize("background", [0.0, 0.16])
def test_what_spark_computes_and_what_replicas_add_is_found(tmp_path: Path, background: float) -> None:
    """Tasks that share two cores, their work partly in the JVM, dearer with more replicas; others use cores, too."""
    trades = BatchElement(
        "trades", ("trades@source",), 2e-4, selectivity=0.5, jvm_s=1e-4, service_growth=Growth(0.0, 1e-4, 8, 8)
    )
    window = BatchElement("window", ("trades",), 8e-4, jvm_s=4e-4, jvm_growth=Growth(2e-4, 0.0, 8, 8))
    nodes = twin.Nodes((twin.Node("n", cores=2),))
    costs = replace(COSTS, tasks_per_core=8, noise=0.02, background_ratio=background)
    plant = twin.Plant(
        model(twin.constant(1e6)), nodes, Configuration.of(application(), 2), end_s=500, costs=costs,
        elements=(trades, window),
    )  # fmt: skip
    written = Journal(tmp_path / "journal.jsonl", "prices")
    written.begin(RunStart(cores=2))
    for replicas in (1, 3):
        for cap in (1_000, 2_000, 4_000):
            plant.apply(replace(plant.configuration.with_replicas("window", replicas), micro_batch_tuples=cap))
            for _ in range(12):
                written.write(plant.observation(plant.next_batch()), plant.in_force)
    fit = twin.fit_of(application(), tmp_path, None)
    first, second = fit.elements
    for replicas in (1, 2, 4):
        assert first.tuple_s(2, replicas) == pytest.approx(trades.tuple_s(2, replicas), rel=0.05)
        assert second.tuple_s(replicas, 1) == pytest.approx(window.tuple_s(replicas, 1), rel=0.05)
    assert fit.report.error is not None
    assert fit.report.error < 0.03
    assert fit.costs.background_ratio == pytest.approx(background, abs=0.04)
    assert "us more a doubling of its readers' replicas" in "\n".join(fit.report.lines())


def saturated_run(
    folder: Path, elements: tuple[BatchElement, BatchElement], costs: twin.MicroBatchCosts, end_s: float
) -> tuple[twin.Plant, Journal]:
    """A simulated run on two cores with more tuples than it can take, and the journal that it is to be written to."""
    plant = twin.Plant(
        model(twin.constant(1e6)), twin.Nodes((twin.Node("n", cores=2),)), Configuration.of(application(), 2),
        end_s=end_s, costs=costs, elements=elements,
    )  # fmt: skip
    written = Journal(folder / "journal.jsonl", "prices")
    written.begin(RunStart(cores=2))
    return plant, written


def test_what_a_worker_takes_for_a_task_is_part_of_its_time(tmp_path: Path) -> None:
    """A service is waited for; 20 ms of each task are not of its tuples, half of them computed."""
    trades = BatchElement("trades", ("trades@source",), 1e-6)
    window = BatchElement("window", ("trades",), 5e-4, cpu_ratio=0.02, jvm_s=1e-6, task_s=0.02, task_cpu_ratio=0.5)
    costs = replace(COSTS, tasks_per_core=8, noise=0.01, task_s=0.0)
    plant, written = saturated_run(tmp_path, (trades, window), costs, 500)
    busy_s = []
    for cap in (80, 800, 8_000):
        plant.apply(replace(plant.configuration.with_replicas("window", 4), micro_batch_tuples=cap))
        for _ in range(12):
            observation = plant.observation(plant.next_batch())
            written.write(observation, plant.in_force)
        busy_s.append(observation.replicas_by_element["window"][0].busy_s)
    assert busy_s[0] == pytest.approx(0.02 + 20 * 5e-4, rel=0.3)
    fit = twin.fit_of(application(), tmp_path, None)
    found = fit.elements[1]
    assert found.service_s == pytest.approx(5e-4, rel=0.05)
    assert found.task_s == pytest.approx(0.02, rel=0.15)
    assert found.task_cpu_ratio == pytest.approx(0.5, abs=0.1)
    assert found.cpu_ratio == pytest.approx(0.02, abs=0.01)
    assert fit.costs.batch_s + 2 * fit.costs.task_s == pytest.approx(0.08, rel=0.1)


def test_what_runs_beside_tasks_slows_a_stage_that_needs_all_cores() -> None:
    def took_s(replicas: int, tasks_per_core: int) -> float:
        own = twin.Model(
            [twin.Source("s", twin.constant(1e6))],
            [twin.Operator("a", ("s",), twin.constant(1e-3), replicas=replicas)],
        )
        costs = twin.MicroBatchCosts(
            batch_s=0, stage_s=0, task_s=0, noise=0, background_ratio=0.25, tasks_per_core=tasks_per_core
        )
        plan = replace(model_configuration(own), micro_batch_tuples=100)
        plant = twin.Plant(own, twin.Nodes((twin.Node("n", cores=2),)), plan, end_s=9, costs=costs)
        return [plant.next_batch() for _ in range(9)][-1].took_s

    for tasks_per_core in (1, 4):
        assert took_s(1, tasks_per_core) == pytest.approx(0.1)
        assert took_s(2, tasks_per_core) == pytest.approx(0.05 / 0.75, rel=0.05)


def test_more_replicas_than_twice_those_seen_cost_no_more() -> None:
    element = BatchElement("window", ("trades",), 8e-4, service_growth=Growth(1e-4, 0.0, 4, 1))
    assert [round(1e4 * element.tuple_s(replicas)[0], 9) for replicas in (1, 2, 4, 1000)] == [8, 9, 10, 10]


def test_a_worker_and_spark_take_turns_in_a_task() -> None:
    """What tasks report is of the worker; the rest of the time they wait for Spark."""
    window = BatchElement("window", ("trades@source",), 8e-4, cpu_ratio=0.5, jvm_s=2e-4)
    own = twin.Model(
        [twin.Source("trades@source", twin.constant(1000))],
        [twin.Operator("window", ("trades@source",), twin.constant(1e-3), replicas=2)],
    )
    costs = twin.MicroBatchCosts(noise=0.0)
    plant = twin.Plant(own, NODES, None, end_s=9, costs=costs, elements=(window,))
    for _ in range(3):
        seen = plant.observation(plant.next_batch())
    task = seen.replicas_by_element["window"][0]
    assert task.busy_s == pytest.approx(8e-4 * task.tuples_in)
    assert task.cpu_s == pytest.approx(4e-4 * task.tuples_in)
    assert task.waiting_s == pytest.approx(2e-4 * task.tuples_in)
    assert task.jvm_cpu_s == pytest.approx(2e-4 * task.tuples_in)


def test_the_noise_is_that_of_the_element_that_takes_the_time(tmp_path: Path) -> None:
    quiet = twin.MicroBatchCosts(batch_s=0.08, stage_s=0.0, task_s=0.0, noise=0.02, reconfigure_s=0.0, move_s=0.0)
    random = np.random.default_rng(3)
    plant = twin.Plant(model(twin.poisson(2000)), NODES, Configuration.of(application(), 2), end_s=60.0, costs=quiet)
    written = Journal(tmp_path / "journal.jsonl", "prices")
    for _ in range(60):
        seen = plant.observation(plant.next_batch())
        (brief, *more) = seen.replicas_by_element["trades"]
        shaken = replace(brief, busy_s=brief.busy_s * float(np.exp(random.normal(0, 1.0))) / 20)
        rest = [replace(own, busy_s=own.busy_s * float(np.exp(random.normal(0, 1.0))) / 20) for own in more]
        by_element = {**seen.replicas_by_element, "trades": (shaken, *rest)}
        written.write(replace(seen, replicas_by_element=by_element), plant.in_force)
    assert twin.fit_of(application(), tmp_path, None).costs.noise < 0.15


def test_tuples_that_cost_very_different_amounts_and_a_driver_that_varies_are_found(tmp_path: Path) -> None:
    """One tuple in ten asks a service: small tasks vary far more than large ones, and the latest of four is late."""
    trades = BatchElement("trades", ("trades@source",), 1e-6)
    window = BatchElement("window", ("trades",), 5e-4, cpu_ratio=0.02, jvm_s=1e-6, hidden_cv=3.0)
    costs = replace(COSTS, tasks_per_core=8, noise=0.02, task_s=0.0, batch_noise=0.3)
    plant, written = saturated_run(tmp_path, (trades, window), costs, 5_000)
    for cap in (400, 2_000, 16_000):
        plant.apply(replace(plant.configuration.with_replicas("window", 4), micro_batch_tuples=cap))
        for _ in range(60):
            written.write(plant.observation(plant.next_batch()), plant.in_force)
    fit = twin.fit_of(application(), tmp_path, None)
    found = fit.elements[1]
    assert found.service_s == pytest.approx(5e-4, rel=0.04)
    assert found.hidden_cv == pytest.approx(3.0, rel=0.25)
    assert found.service_cv == 0.0, "tasks do not report it"
    assert fit.costs.noise == pytest.approx(0.02, abs=0.02)
    assert fit.costs.batch_s + 2 * fit.costs.task_s == pytest.approx(0.08, rel=0.1)
    assert fit.costs.batch_noise == pytest.approx(0.3, abs=0.12)


def test_a_task_that_waits_keeps_the_time_in_which_it_got_no_core() -> None:
    waits, computes = (task_of(cpu_s=cpu_s) for cpu_s in (0.01, 0.5))
    assert _ran_s(waits) == pytest.approx(0.5 + 0.1 * (1 - 0.01 / 0.5))
    assert _ran_s(computes) == pytest.approx(0.5), "the twin has tasks share cores by itself"


def task_of(cpu_s: float) -> ReplicaObservation:
    return ReplicaObservation(0, 100, 100, 0.6, cpu_s, 0, stalled_s=0.1)


@given(fixed=st.floats(0, 0.05), slope=st.floats(1e-5, 1e-3), skew=st.floats(0.0, 0.6), seed=st.integers(0, 99))
def test_a_line_with_means_has_the_sums_of_its_points(fixed: float, slope: float, skew: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    xs = np.repeat([100.0, 1_000.0, 10_000.0], 400)
    ys = (fixed + slope * xs) * np.exp(random.normal(0, skew, len(xs)))
    plain = growing_line(xs, ys, np.zeros((len(xs), 0)))
    moved = with_means(plain, xs, ys, np.zeros((len(xs), 0)))
    off = [abs(own.at(xs, np.zeros((len(xs), 0))).sum() / ys.sum() - 1) for own in (plain, moved)]
    assert off[1] <= max(off[0], 0.03) + 0.02


def test_noise_of_any_size_is_told_from_that_of_small_points() -> None:
    random = np.random.default_rng(5)
    xs = random.choice([50.0, 500.0, 5_000.0], 6_000)
    for wide, narrow in ((0.1, 1.5), (0.0, 2.0), (0.2, 0.0)):
        logs = random.normal(0, np.sqrt(wide**2 + narrow**2 / xs))
        found = noise_by_size(xs, logs)
        assert found == pytest.approx((wide, narrow), abs=0.15)


def test_the_report_says_how_well_it_fits(tmp_path: Path) -> None:
    report = twin.fit_of(application(), journal(tmp_path, change=False), None).report
    assert report.error is not None
    assert report.error < 0.1
    assert report.error_later is not None
    assert report.error_later < 0.15
    text = "\n".join(report.lines())
    assert "element window: " in text
    assert "assumed: a change of routes pauses for 0.1 s, since the run had none" in text


def test_a_fit_predicts_other_rates_and_replicas(tmp_path: Path) -> None:
    fitted = twin.fit_of(application(), journal(tmp_path), None)
    for rate, replicas in ((1000.0, 2), (4000.0, 6)):
        plan = fitted.configuration.with_replicas("window", replicas)
        predicted = twin.simulate(
            application(), NODES, plan, seconds=60, warm_up_s=10, from_journal=tmp_path, rate_tuples_s=rate
        )
        truth = twin.simulate(
            model(twin.poisson(rate)), NODES, plan, mode="micro_batch", seconds=60, warm_up_s=10, costs=COSTS
        )
        assert predicted.latency.p95_s == pytest.approx(truth.latency.p95_s, rel=0.15)
        assert predicted.throughput_tuples_s == pytest.approx(truth.throughput_tuples_s, rel=0.05)


def test_the_search_of_an_application_varies_replicas_and_gives_a_plan_for_it(tmp_path: Path) -> None:
    app = application()
    found = twin.search(app, NODES, simulations=12, seconds=10, from_journal=journal(tmp_path, 30.0))
    assert set(found.partitions) == {"trades", "window"}
    assert {own.name: own.replicas for own in found.plan.elements} == dict(found.partitions)
    assert [len(own.route) for own in found.plan.elements] == [
        len(own.route) for own in Configuration.of(app, 2).elements
    ]


def test_the_plan_of_a_search_fits_the_application(tmp_path: Path) -> None:
    """As `ps.run(app, configuration=found.plan)` checks it; one window over the whole stream has one replica."""
    app = application()
    quotes = ps.Application("prices")
    own = quotes.source("quotes", schema={"ticker": "string", "price": "float64"}).functor("trades", where="price > 1")
    own.aggregate("window", window=ps.sliding(count=4), emit={"top": "max(price)"}).sink("out")
    for whole, subject in ((False, app), (True, quotes)):
        found = twin.search(subject, NODES, simulations=9, seconds=5, from_journal=journal(tmp_path / str(whole), 30.0))
        check_configuration(found.plan, pipeline_of(graph_of(subject, "a test"), found.plan.fused))
        assert {own.name: own.replicas for own in found.plan.elements} == dict(found.partitions)
        assert not whole or found.partitions["window"] == 1


def test_mistakes_have_their_sentences(tmp_path: Path) -> None:
    journal(tmp_path, 3.0, change=False)
    with pytest.raises(InputError, match="micro-batches with tuples after the first 3 of a start; a fit needs 20"):
        twin.fit_of(application(), tmp_path, None)
    with pytest.raises(InputError, match="is of application 'prices'; got 'others' to simulate"):
        twin.fit_of(application("others"), tmp_path, None)
    with pytest.raises(InputError, match="from_journal or from_profile; got both"):
        twin.simulate(application(), NODES, from_journal=tmp_path, from_profile=tmp_path)
    with pytest.raises(InputError, match="a rate is above 0 tuples/s; got 0"):
        twin.fit_of(application(), journal(tmp_path / "longer", 30.0), None).at_rate(0)


def profile(path: Path, **more: object) -> Path:
    body = {
        "version": 1, "fixed": {"micro_batch_cpu_s": 0.05, "task_cpu_s": 0.001, "envelope_cpu_s": 0.0},
        "operators": {
            "trades": {"cpu": [{"powers": [1], "coefficient": 1e-4}],
                       "outputs": {"trades": [{"powers": [1], "coefficient": 0.5}]}},
            "window": {"cpu": [{"powers": [1], "coefficient": 4e-4}], "outputs": {}},
        },
    }  # fmt: skip
    path.write_text(json.dumps({**body, **more}))
    return path


def test_a_profile_gives_the_costs_of_each_element(tmp_path: Path) -> None:
    fit = twin.fit_of(application(), None, profile(tmp_path / "p.json"))
    assert {own.name: own.service_s for own in fit.elements} == pytest.approx({"trades": 1e-4, "window": 4e-4})
    assert fit.elements[0].selectivity == pytest.approx(0.5)
    assert fit.costs.batch_s == 0.05
    found = twin.simulate(application(), NODES, from_profile=tmp_path / "p.json", seconds=30, warm_up_s=3)
    assert found.throughput_tuples_s == pytest.approx(500, rel=0.1)


def test_a_profile_that_does_not_fit_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has nothing about operator 'trades'; profile it anew"):
        twin.fit_of(application(), None, profile(tmp_path / "p.json", operators={}))
    with pytest.raises(InputError, match="a profile has version 1 and operators"):
        twin.fit_of(application(), None, profile(tmp_path / "p.json", version=9))
    with pytest.raises(InputError, match="cannot read"):
        twin.fit_of(application(), None, tmp_path / "none.json")


@pytest.mark.parametrize(
    ("trades", "sentence"),
    [
        (3, "operator 'trades' is an object with cpu and outputs; got 3"),
        ({"cpu": 3}, "cpu of operator 'trades' is a list of terms with powers and coefficient; got 3"),
        ({"cpu": [{"powers": ["x"], "coefficient": 1}]}, "powers of cpu of operator 'trades' are whole numbers"),
        ({"cpu": [], "outputs": [1]}, "outputs of operator 'trades' is an object by stream"),
    ],
)
def test_a_damaged_profile_is_told(tmp_path: Path, trades: object, sentence: str) -> None:
    path = profile(tmp_path / "p.json", operators={"trades": trades, "window": {"cpu": []}})
    with pytest.raises(InputError, match=sentence):
        twin.fit_of(application(), None, path)
