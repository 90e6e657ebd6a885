"""What a run keeps of its Observations: the newest with their counts by slot, older ones without, none for ever."""

from __future__ import annotations

from penstock.measure.observation import Observation
from penstock.spark.driver.run_result import add_bounded


def observed(batch: int) -> Observation:
    counts = {"window": (batch, 1)}
    return Observation(batch, 0.0, 1.0, 10, 1, slot_tuples_by_element=counts, slot_cpu_us_by_element=counts)


def test_only_the_newest_have_counts_by_slot() -> None:
    kept: list[Observation] = []
    for first in range(0, 1_200, 7):
        add_bounded(kept, [observed(batch) for batch in range(first, first + 7)])
    assert [own.batch for own in kept] == list(range(len(kept)))
    with_slots = [own.batch for own in kept if own.slot_tuples_by_element]
    assert with_slots == [own.batch for own in kept[-500:]]
    assert [own.batch for own in kept if own.slot_cpu_us_by_element] == with_slots
    assert {own.tuples_in for own in kept} == {10}


def test_many_at_once_are_bounded_alike() -> None:
    kept = [observed(0)]
    add_bounded(kept, [observed(batch) for batch in range(1, 20_000)])
    assert (len(kept), kept[0].batch) == (20_000, 0)
    add_bounded(kept, [observed(20_000)])
    assert (len(kept), kept[0].batch, kept[-1].batch) == (10_001, 10_000, 20_000)
    assert sum(bool(own.slot_tuples_by_element) for own in kept) == 500
