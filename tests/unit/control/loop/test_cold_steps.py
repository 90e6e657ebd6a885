"""Steps on workers that have just started: slow for once, and no sign of what replicas or a service can do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.connectors.trace.arrivals import Arrivals, counted_arrivals
from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.decision import Change, Decision
from penstock.control.goals.goal import throughput
from penstock.control.loop.loop import Loop
from penstock.control.loop.observed_steps import ObservedBatch, StepGatherer
from penstock.control.mpc.learning import Learned, learn
from penstock.control.mpc.live import LiveMpc
from penstock.control.mpc.presets import default_mpc
from penstock.control.routes.routing import Routing
from penstock.control.rules.application_rules import application_rules
from penstock.control.rules.guard import Guard
from penstock.control.rules.useful_replicas import HighestReplicas
from penstock.control.setting import Grid, Setting
from penstock.measure.observation import Observation, ReplicaObservation
from penstock.model.forecasters.holt import Holt
from penstock.model.forecasters.tracked import Tracked
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.simulate.plant_shape import PlantShape
from penstock.simulate.shape_plant import ELEMENT, shape_plant

SERVICE_S = 0.0002
CAP = 80_000


class ColdWorkers:
    """A plant whose first micro-batch on new replicas takes each tuple several times as long."""

    def __init__(self, slower: float, shape: PlantShape, arrivals: Arrivals) -> None:
        self._slower, self._is_cold = slower, False
        own = replace(shape, service_factor=self._factor)
        self._plant = shape_plant(own, arrivals, Setting(1, None, CAP), end_s=70.0)

    def _factor(self, _time_s: float) -> float:
        factor, self._is_cold = (self._slower if self._is_cold else 1.0), False
        return factor

    @property
    def configuration(self) -> Configuration:
        return self._plant.configuration

    def apply(self, configuration: Configuration) -> None:
        self._is_cold |= configuration.element(ELEMENT).replicas > self.configuration.element(ELEMENT).replicas
        self._plant.apply(configuration)

    def observe(self) -> ControlStep | None:
        return self._plant.observe()


def spike_of(slower: float) -> list[ControlStep]:
    """From a third of one replica's work to that of four and back."""
    busy = np.repeat([0.3, 4.0, 0.3], [15, 30, 25])
    arrivals = counted_arrivals(np.arange(71.0), np.round(busy / SERVICE_S).astype(np.int64))
    shape = PlantShape(service_s=SERVICE_S, noise=0.03)
    policy = LiveMpc(default_mpc(throughput(), Grid(tuple(range(1, 9)), caps_tuples=(CAP,)), pause_s=0.2))
    loop = Loop(policy, throughput(), application_rules(Guard()), Routing())
    return [record.seen for record in loop.run(ColdWorkers(slower, shape, arrivals))]


@pytest.mark.parametrize("slower", [1.0, 4.0])
def test_a_cold_spike_is_met_although_the_first_step_on_new_workers_is_slow(slower: float) -> None:
    during = [seen for seen in spike_of(slower) if 20 < seen.ended_at_s <= 45]
    mean = sum(seen.setting.replicas * seen.period_s for seen in during) / sum(seen.period_s for seen in during)
    assert mean >= 4
    assert during[-1].queued_tuples < 1 / SERVICE_S


def seen_step(number: int, replicas: int, service_s: float, **other: object) -> ControlStep:
    step = ControlStep(
        step=number, ended_at_s=float(number), period_s=1.0, setting=Setting(replicas, None, CAP),
        arrived_tuples=20_000.0, served_tuples=20_000.0, backlog_tuples=0.0, busy_ratio=0.5, service_s=service_s,
        overhead_s=0.1,
    )  # fmt: skip
    return replace(step, **other)  # type: ignore[arg-type]


def learned(steps: list[ControlStep]) -> Learned:
    state = Learned(Tracked(Holt(), 3))
    for seen in steps:
        state = learn(state, seen, 0.0, by_batches=True)
    return state


WARM = [seen_step(i, 1, SERVICE_S) for i in range(1, 8)]


@pytest.mark.parametrize("partial", [{"reconfigured": True}, {"replicas_ready": 1}], ids=["changed", "on their way"])
def test_no_limit_of_a_service_is_learned_from_a_step_with_a_change(partial: dict[str, object]) -> None:
    state = learned([*WARM, seen_step(8, 8, 8 * SERVICE_S, **partial)])
    assert state.limit.limit_tuples_s == float("inf")


def test_a_cold_step_changes_neither_the_time_of_a_tuple_nor_the_overhead() -> None:
    before = learned(WARM)
    after = learned([*WARM, seen_step(8, 8, 4 * SERVICE_S, reconfigured=True, overhead_s=2.0)])
    assert (after.gigacycles, after.overhead_s, after.service) == (before.gigacycles, before.overhead_s, before.service)


def test_a_service_that_takes_longer_is_learned_one_step_after_a_change() -> None:
    steps = [*WARM, seen_step(8, 8, 2 * SERVICE_S, reconfigured=True)]
    assert learned(steps).gigacycles == pytest.approx(SERVICE_S)
    state = learned([*steps, *(seen_step(i, 8, 2 * SERVICE_S) for i in range(9, 13))])
    assert state.gigacycles == pytest.approx(2 * SERVICE_S, rel=0.15)


def test_a_full_service_is_found_in_the_steps_after_a_change() -> None:
    first = seen_step(8, 8, 4 * SERVICE_S, reconfigured=True)  # eight times the replicas bring twice the tuples
    state = learned([*WARM, first, *(seen_step(i, 8, 4 * SERVICE_S) for i in (9, 10))])
    assert state.limit.limit_tuples_s == pytest.approx(2 / SERVICE_S)


class Plant:
    """Three steps of an element that waits, and one on workers that have just started."""

    def __init__(self) -> None:
        waits, starts = (ElementLoad("windows", 1, 1.0, 1.0, 1.0, cpu_s=cpu_s) for cpu_s in (0.05, 0.95))
        self.steps = [seen_step(i, 1, SERVICE_S, elements=(waits,)) for i in (1, 2, 3)]
        self.steps.append(seen_step(4, 8, SERVICE_S, elements=(starts,), reconfigured=True))
        self.configuration = Configuration(())

    def observe(self) -> ControlStep | None:
        return self.steps.pop(0) if self.steps else None

    def apply(self, configuration: Configuration) -> None:
        raise AssertionError(configuration)


class More:
    name = "more"

    def start(self) -> None: ...

    def decide(self, state: None, seen: ControlStep) -> tuple[None, Decision]:
        return None, Change(replace(seen.setting, replicas=16), "more")


def test_the_share_of_computing_is_not_learned_from_workers_that_start() -> None:
    loop = Loop(More(), throughput(), application_rules(useful=HighestReplicas(2, 16)), passive=True)
    decided = [record.decided for record in loop.run(Plant())]
    assert [own.setting.replicas for own in decided if isinstance(own, Change)] == [16] * 4


@pytest.mark.parametrize(
    ("cpu_s", "replicas"), [(0.05, 1), (0.9, 2)], ids=["waits for a service", "computes on all cores"]
)
def test_an_element_with_fewer_replicas_that_does_the_work_is_no_overhead(cpu_s: float, replicas: int) -> None:
    configuration = Configuration((ElementConfiguration("source", 2), ElementConfiguration("windows", 1)))
    sources = tuple(ReplicaObservation(i, 500, 500, 0.01, 0.01, 0) for i in range(2))
    windows = (ReplicaObservation(0, 1000, 40, 0.95, cpu_s, 0),)
    seen = Observation(0, 0.0, 1.0, 1000, 40, {"source": sources, "windows": windows}, committed_at_s=1.0)
    (step,) = StepGatherer(1.0, cores=1).add(ObservedBatch(seen, configuration))
    assert step.setting.replicas == replicas
    assert step.service_s == pytest.approx(0.95e-3 if replicas == 1 else 0.02e-3)
    assert step.overhead_s == pytest.approx(0.05 if replicas == 1 else 0.99)
