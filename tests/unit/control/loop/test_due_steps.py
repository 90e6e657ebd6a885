"""Micro-batches may be told to control some at a time: steps are the same, and none is told later than it ends."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from penstock.control.loop.observed_steps import ObservedBatch, StepGatherer
from penstock.measure.observation import BatchTimes, Observation
from penstock.plan.configuration import Configuration, ElementConfiguration


def batches_of(shapes: list[tuple[float, float, int]]) -> list[ObservedBatch]:
    """(time before it, time it takes, replicas) of each micro-batch."""
    now_s, found = 1_000.0, []
    for number, (before_s, batch_s, replicas) in enumerate(shapes):
        started_s, now_s = now_s + before_s, now_s + before_s + batch_s
        seen = Observation(
            number, started_s, batch_s, 10, 10, committed_at_s=now_s, times=BatchTimes(0.0, batch_s, 0.0, before_s)
        )
        found.append(ObservedBatch(seen, Configuration((ElementConfiguration("window", replicas),))))
    return found


eighths = st.integers(1, 12).map(lambda n: n / 8)  # exact in binary, so that sums are


@example([(0.03125, 0.125, 1), (0.03125, 0.125, 2), (0.03125, 0.125, 1)])
@given(st.lists(st.tuples(eighths.map(lambda s: s / 4), eighths, st.sampled_from([1, 1, 1, 2])), max_size=40))
def test_steps_are_the_same_and_as_early(shapes: list[tuple[float, float, int]]) -> None:
    batches = batches_of(shapes)
    alone = StepGatherer()
    expected = [(number, step) for number, batch in enumerate(batches) for step in alone.add(batch)]
    together, waiting = StepGatherer(), list[ObservedBatch]()
    found = []
    for number, batch in enumerate(batches):
        waiting.append(batch)
        committed_s = batch.observation.committed_at_s
        assert committed_s is not None
        if together.is_due(committed_s, batch.configuration):
            found += [(number, step) for own in waiting for step in together.add(own)]
            waiting = []
    assert found == expected


def test_a_clock_that_is_set_back_holds_nothing_up() -> None:
    gathered = StepGatherer()
    (batch,) = batches_of([(0.0, 1.0, 2)])
    gathered.add(batch)
    ended_s = batch.observation.committed_at_s
    assert ended_s is not None
    assert not gathered.is_due(ended_s + 0.5, batch.configuration)
    assert gathered.is_due(ended_s - 3600.0, batch.configuration)


def test_most_micro_batches_of_a_second_wait() -> None:
    gathered, due = StepGatherer(), 0
    waiting = list[ObservedBatch]()
    for batch in batches_of([(0.0, 0.125, 2)] * 80):
        waiting.append(batch)
        if gathered.is_due(batch.observation.committed_at_s or 0.0, batch.configuration):
            due += 1
            for own in waiting:
                gathered.add(own)
            waiting = []
    assert due <= 8 + 10, "each of the first step, then one a second"
