"""What a run has of its Observations: the newest with their counts by slot, the figures of those that went."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measure.latency_sketch import LatencySketch
from penstock.measure.observation import Latency, Observation, ReplicaObservation, latency_of
from penstock.watch.newest_observations import MOST, add_bounded
from penstock.watch.summary import Summary, summary_of


def observed(batch: int) -> Observation:
    counts = {"window": (batch, 1)}
    latency = latency_of(LatencySketch(100 + batch % 7, (1, batch % 3), 5.0 * batch, 10.0 + batch % 50))
    assert isinstance(latency, Latency)
    return Observation(
        batch, float(batch), 1.0, 10 + batch % 5, 1, latency=latency, dead_letters=batch % 2,
        backlog_tuples=batch % 1_000, slot_tuples_by_element=counts, slot_cpu_us_by_element=counts,
    )  # fmt: skip


def test_only_the_newest_have_counts_by_slot() -> None:
    held: list[Observation] = []
    for first in range(0, 1_200, 7):
        add_bounded(held, [observed(batch) for batch in range(first, first + 7)])
    assert [own.batch for own in held] == list(range(len(held)))
    with_slots = [own.batch for own in held if own.slot_tuples_by_element]
    assert with_slots == [own.batch for own in held[-500:]]
    assert [own.batch for own in held if own.slot_cpu_us_by_element] == with_slots


def test_a_run_has_the_newest_and_no_more_than_a_tenth_beyond_the_bound() -> None:
    held: list[Observation] = []
    for batch in range(3 * MOST):
        add_bounded(held, [observed(batch)])
        assert min(batch + 1, MOST) <= len(held) < 1.1 * MOST
        assert held[-1].batch == batch


def test_a_run_of_many_replicas_has_fewer_as_they_take_more_memory() -> None:
    replicas = tuple(ReplicaObservation(replica, 10, 10, 0.1, 0.1, 0) for replica in range(20))
    wide, held, everything = {"window": replicas}, list[Observation](), list[Observation]()
    earlier: Summary | None = None
    for batch in range(1_500):
        everything.append(replace(observed(batch), replicas_by_element=wide))
        earlier = add_bounded(held, everything[-1:], earlier)
    assert 10_000 <= sum(len(own.replicas_by_element["window"]) for own in held) < 15_000
    assert held[-1].batch == 1_499
    assert summary_of(held, earlier) == summary_of(everything)
    for batch in range(1_500, 3_000):
        add_bounded(held, [replace(observed(batch), replicas_by_element={"window": 1_000 * replicas})])
    assert 300 <= len(held) < 600


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=12))
def test_figures_of_a_run_do_not_depend_on_what_went(sizes: list[int]) -> None:
    held: list[Observation] = []
    earlier: Summary | None = None
    everything: list[Observation] = []
    for size in sizes:
        new = [observed(batch) for batch in range(len(everything), len(everything) + size)]
        earlier = add_bounded(held, new, earlier)
        everything += new
    found, wanted = summary_of(held, earlier), summary_of(everything)
    assert found is not None
    assert found == wanted
