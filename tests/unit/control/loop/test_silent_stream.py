"""A stream that is silent gets micro-batches without tuples, so that control gives back what is not needed."""

from __future__ import annotations

import pytest

from penstock.control.goals.goal import throughput
from penstock.control.goals.limits import Limits, grid_within
from penstock.control.live.controller import Controller
from penstock.control.loop.control_request import ControlRequest, policy_of
from penstock.control.loop.observed_steps import ObservedBatch, control_steps
from penstock.control.policy_parameters import POLICY_NAMES
from penstock.measure.observation import ArrivalObservation, BatchTimes, Observation, ReplicaObservation
from penstock.plan.configuration import Configuration
from tests.unit.control.live.test_micro_batch_plant import (
    FakeHandle,
    Script,
    SlowExecutors,
    configured,
    controlled,
    fed,
    observed,
)

GRID = grid_within(Limits(), 4, 1000, ())


def silent(batch: int, configuration: Configuration) -> Observation:
    """A micro-batch without tuples, ten seconds after the one before."""
    idle = {
        own.name: tuple(ReplicaObservation(r, 0, 0, 0.0, 0.0, 0) for r in range(own.replicas))
        for own in configuration.elements
    }
    end_s = 1_000.0 + 10.0 * batch
    return Observation(
        batch=batch, started_at_s=end_s - 0.1, micro_batch_s=0.1, tuples_in=0, tuples_out=0, replicas_by_element=idle,
        backlog_tuples=0, committed_at_s=end_s, arrivals=ArrivalObservation(0, 10.0),
        times=BatchTimes(0.0, 0.1, 0.0, before_s=9.9),
    )  # fmt: skip


def fed_by_beats(controller: Controller, handle: FakeHandle, beats: int) -> list[int]:
    """The replicas that each micro-batch ran with, where there is one for each beat and no tuples come."""
    used = []
    for batch in range(beats):
        handle.beats.get(timeout=30)
        configuration = handle.configuration
        used.append(configuration.element("window").replicas)
        controller.committed(silent(batch, configuration), configuration)
    return used


def test_a_silent_stream_makes_control_steps() -> None:
    handle = FakeHandle(configured(4))
    controller, notes = controlled(handle, Script((4, 2, 1)), idle_s=0.01)
    used = fed_by_beats(controller, handle, 6)
    controller.close()
    assert used == [4, 4, 4, 2, 1, 1]
    assert notes.decisions[0][1].seen.rate_tuples_s == 0


def test_a_stream_that_is_not_silent_gets_no_beat() -> None:
    handle = FakeHandle(configured(4))
    controller, _ = controlled(handle, Script((4,)), idle_s=60.0)
    fed(controller, handle, 5)
    controller.close()
    assert handle.beats.empty()


def test_a_change_that_waits_for_executors_is_made_in_a_silent_stream_too() -> None:
    handle, executors = FakeHandle(configured(2)), SlowExecutors(2)
    controller, _ = controlled(handle, Script((4,)), resources=executors, idle_s=0.01)
    assert fed_by_beats(controller, handle, 3) == [2, 2, 2]
    executors.cores = 4
    assert fed_by_beats(controller, handle, 3)[-1] == 4
    controller.close()


def test_mpc_gives_replicas_back_when_the_stream_falls_silent() -> None:
    handle = FakeHandle(configured(4))
    controller, _ = controlled(handle, policy_of(ControlRequest(throughput()), GRID), idle_s=0.01)
    fed(controller, handle, 6)
    used = fed_by_beats(controller, handle, 8)
    controller.close()
    assert controller.failure is None
    assert used[-1] == 1


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_policy_bears_silence_from_the_beginning_and_after_tuples(name: str) -> None:
    configuration = configured(2)
    policy = policy_of(ControlRequest(throughput(), policy=name), GRID)
    for tuples in (0, 5):
        seen = [observed(n, 2, 1.0) for n in range(tuples)] + [silent(n + tuples, configuration) for n in range(40)]
        state = policy.start()
        for step in control_steps(ObservedBatch(own, configuration) for own in seen):
            state, _ = policy.decide(state, step)
