"""`twin.Plant`: models in micro-batches on nodes, behind the port that Spark has."""

from __future__ import annotations

from dataclasses import fields

import pytest

from penstock import twin
from penstock.control.control_step import ControlStep
from penstock.control.goals.goal import throughput
from penstock.control.loop.loop import Loop
from penstock.control.loop.named_policies import named_policy
from penstock.control.policy_parameters import POLICY_NAMES
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.guard import Guard
from penstock.control.setting import Grid
from penstock.errors import InputError
from penstock.plan.configuration import Configuration, ElementConfiguration

EXACT = twin.MicroBatchCosts(batch_s=0.1, stage_s=0.02, task_s=0.005, noise=0.0)
NODES = twin.Nodes((twin.Node("n", count=4, cores=2),))


def model(rate: float = 1000.0, arrivals: twin.Draws | None = None) -> twin.Model:
    return twin.Model(
        [twin.Source("s", arrivals or twin.constant(rate))],
        [
            twin.Operator("parse", ("s",), twin.constant(0.0005), selectivity=0.5, replicas=2),
            twin.Operator("window", ("parse",), twin.constant(0.002), replicas=4),
        ],
    )


def steps(plant: twin.Plant) -> list[ControlStep]:
    found = []
    while (step := plant.observe()) is not None:
        found.append(step)
    return found


def test_a_micro_batch_takes_its_fixed_costs_and_the_busiest_task_of_each_stage() -> None:
    plant = twin.Plant(model(), NODES, None, period_s=1, end_s=60, seed=1, costs=EXACT)
    last = steps(plant)[-5]
    # D = fixed + rate D (0.0005 / 2 + 0.5 x 0.002 / 4), fixed = 0.1 + 2 x (0.02 + 0.005)
    duration_s = 0.15 / (1 - 1000 * (0.0005 / 2 + 0.5 * 0.002 / 4))
    assert last.micro_batch_s == pytest.approx(duration_s, rel=0.02)
    assert last.latency_mean_s == pytest.approx(1.5 * duration_s, rel=0.03)
    assert last.served_tuples_s == pytest.approx(1000, rel=0.35)


def test_all_that_arrives_is_served_or_waits() -> None:
    seen = steps(twin.Plant(model(arrivals=twin.poisson(3000)), NODES, end_s=40, seed=3))
    arrived, served = sum(s.arrived_tuples for s in seen), sum(s.served_tuples for s in seen)
    assert arrived - served == seen[-1].backlog_tuples


def test_the_same_seed_gives_the_same_steps() -> None:
    one, same, other = (
        steps(twin.Plant(model(arrivals=twin.poisson(900)), NODES, end_s=20, seed=s)) for s in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_every_field_that_spark_fills_is_filled() -> None:
    plant = twin.Plant(model(arrivals=twin.poisson(900)), NODES, end_s=20, paced=True,
                       costs=twin.MicroBatchCosts(start_s=2.0))  # fmt: skip
    step = steps(plant)[3]
    # no counters; the loop's; nothing is on its way
    not_measured = {"joules", "highest_replicas", "requested", "replicas_ready"}
    empty = {own.name for own in fields(ControlStep) if getattr(step, own.name) is None}
    assert empty == not_measured
    assert [(own.name, own.inputs) for own in step.elements] == [("parse", ()), ("window", ("parse",))]
    assert all(own.cpu_s > 0 and own.busy_s > 0 and len(own.load_by_slot) == 512 for own in step.elements)
    assert step.arrival_cv == pytest.approx(1.0)


def test_more_tasks_than_cores_run_in_waves() -> None:
    few = twin.Nodes((twin.Node("n", cores=2),))
    wide = model_on(few, 4)
    assert wide == pytest.approx(model_on(twin.Nodes((twin.Node("n", cores=4),)), 2) * 1.0, rel=0.03)


def model_on(nodes: twin.Nodes, window: int) -> float:
    configuration = Configuration((ElementConfiguration("parse", 2), ElementConfiguration("window", window)))
    costs = twin.MicroBatchCosts(batch_s=0.1, stage_s=0.0, task_s=0.0, noise=0.0)
    return steps(twin.Plant(model(400.0), nodes, configuration, end_s=30, costs=costs))[-5].micro_batch_s or 0.0


def test_a_faster_node_and_external_load_change_what_a_tuple_takes() -> None:
    slow, fast, loaded = (
        twin.Nodes((twin.Node("n", cores=8, speed=speed, loads=loads),))
        for speed, loads in ((1.0, ()), (2.0, ()), (2.0, (twin.Load(0.0, 100.0, 4.0),)))
    )
    slow_s, fast_s, loaded_s = (steps(twin.Plant(model(), n, end_s=30, costs=EXACT))[-5].service_s for n in
                                (slow, fast, loaded))  # fmt: skip
    assert fast_s == pytest.approx(slow_s / 2, rel=0.01)
    assert loaded_s == pytest.approx(slow_s / 2, rel=0.01), "four cores are left for four tasks"


def test_a_restart_pauses_where_replicas_change() -> None:
    plant = twin.Plant(model(), NODES, end_s=60, costs=twin.MicroBatchCosts(restart_s=10.0, noise=0.0))
    plant.observe()
    plant.apply(plant.configuration.with_replicas("window", 6))
    changed = [plant.observe(), plant.observe()]
    assert max(own.micro_batch_s or 0 for own in changed if own is not None) > 10.0


def test_stragglers_make_stages_longer() -> None:
    plain, late = (
        steps(twin.Plant(model(), NODES, end_s=60, costs=twin.MicroBatchCosts(straggler_ratio=ratio)))[-5]
        for ratio in (0.0, 0.3)
    )
    assert (late.micro_batch_s or 0) > 1.2 * (plain.micro_batch_s or 0)


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_policy_runs_on_it_unchanged(name: str) -> None:
    grid = Grid(tuple(range(1, 9)), caps_tuples=(24_000,))
    plant = twin.Plant(model(arrivals=twin.trace([900] * 15 + [2500] * 15)), NODES, end_s=30)
    records = list(
        Loop(named_policy(name, throughput(), grid, speed_up=60.0), throughput(), application_rules(Guard())).run(plant)
    )
    assert len(records) >= 5
    assert all(1 <= record.seen.setting.replicas <= 8 for record in records)


def test_an_element_that_the_model_has_not_is_told() -> None:
    with pytest.raises(InputError, match="element 'windw', which the model has not; there are: parse, window; did you"):
        twin.Plant(model(), NODES, Configuration((ElementConfiguration("windw", 2),)))


def test_micro_batch_mode_gives_the_figures_of_continuous_mode() -> None:
    found = twin.simulate(model(), NODES, mode="micro_batch", seconds=60, warm_up_s=6, costs=EXACT, record=True)
    duration_s = 0.15 / (1 - 1000 * (0.0005 / 2 + 0.5 * 0.002 / 4))
    assert found.throughput_tuples_s == pytest.approx(500, rel=0.05)
    assert found.latency.mean_s == pytest.approx(1.5 * duration_s, rel=0.03)
    assert found.in_system_mean == pytest.approx(1000 * (found.latency.mean_s or 0), rel=0.05)
    assert found.by_operator["window"].tuples_in_s == pytest.approx(500, rel=0.05)
    assert 0.1 < found.by_node["n-1"].busy_ratio < 1
    assert set(found.log.operator) == {"parse", "window"}
    assert found.events == len(found.log)
