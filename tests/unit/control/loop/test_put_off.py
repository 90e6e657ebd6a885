"""Tuples that wait for their slots are backlog and not served, and a split slot is one of its own element alone."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.control.control_step import ControlStep
from penstock.control.goals.goal import throughput
from penstock.control.goals.goal_check import breaks
from penstock.control.loop.observed_steps import ObservedBatch, control_steps
from penstock.control.routes.hot_keys import heaviest_slot
from penstock.measure.observation import ArrivalObservation, BatchTimes, Observation, ReplicaObservation
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route

SLOTS = 4
TUPLES = 1000
CONFIGURATION = Configuration((ElementConfiguration("window", 2, even_route(2, SLOTS)),))


def batch(number: int, put_off: int, resumed: int) -> Observation:
    """A second, all of whose tuples were taken."""
    replicas = tuple(ReplicaObservation(r, TUPLES // 2, 10, 0.4, 0.1, 0) for r in range(2))
    return Observation(
        number, float(number), 1.0, TUPLES, 20, {"window": replicas}, backlog_tuples=0, committed_at_s=number + 1.0,
        arrivals=ArrivalObservation(TUPLES, 1.0), times=BatchTimes(0.0, 1.0, 0.0, 0.0), waiting_tuples=put_off,
        resumed_tuples=resumed,
    )  # fmt: skip


def steps_of(moves: list[tuple[int, int]]) -> list[ControlStep]:
    return list(control_steps(ObservedBatch(batch(n, *move), CONFIGURATION) for n, move in enumerate(moves)))


def test_tuples_that_are_put_off_break_a_throughput_goal_until_they_have_gone_on() -> None:
    steps = steps_of([(0, 0), (800, 0), (800, 0), (0, 1600), (0, 0)])
    assert [step.backlog_tuples for step in steps] == [0, 800, 1600, 0, 0]
    assert [step.served_tuples for step in steps] == [1000, 200, 200, 2600, 1000]
    assert [breaks(throughput(), step) for step in steps] == [False, False, True, False, False]


@given(st.lists(st.tuples(st.integers(0, TUPLES), st.integers(0, 3000)), max_size=12))
def test_what_was_taken_is_served_or_waits(moves: list[tuple[int, int]]) -> None:
    waiting, possible = 0, []
    for put_off, wanted in moves:
        resumed = min(wanted, waiting)
        waiting += put_off - resumed
        possible.append((put_off, resumed))
    steps = steps_of(possible)
    served, left = sum(step.served_tuples for step in steps), steps[-1].backlog_tuples if steps else 0
    assert served + left == TUPLES * len(possible)
    assert left == waiting


def test_what_a_driver_before_this_one_put_off_goes_on_without_a_trace() -> None:
    (step,) = steps_of([(0, 5000)])
    assert (step.backlog_tuples, step.served_tuples) == (0, TUPLES)


def test_a_slot_that_is_split_in_one_element_stays_heavy_in_another() -> None:
    split = ElementConfiguration("by time", 2, even_route(2, SLOTS), split=(0,))
    configuration = Configuration((split, ElementConfiguration("by count", 2, even_route(2, SLOTS))))
    own = batch(0, 0, 0)
    by_time = tuple(replace(r, busy_s=0.1) for r in own.replicas_by_element["window"])
    seen = replace(
        own,
        replicas_by_element={"by time": by_time, "by count": own.replicas_by_element["window"]},
        slot_tuples_by_element=dict.fromkeys(("by time", "by count"), (700, 100, 100, 100)),
    )
    (step,) = control_steps([ObservedBatch(seen, configuration)])
    assert step.split_slots == ()
    hot = heaviest_slot(step.load_by_slot, step.period_s, step.split_slots)
    assert hot is not None
    assert (hot.slot, hot.highest_useful_replicas) == (0, 2)
