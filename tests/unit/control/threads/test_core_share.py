"""How many threads an element may have by how much one of them computes, whatever is seen beside other threads."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.threads.core_share import CoreShare, threads_for
from penstock.control.threads.thread_control import Share, ThreadControl, learned_from_text
from penstock.measure.element_observation import ElementObservation
from penstock.plan.thread_setting import POLICIES, ElasticThreads

CORES = st.integers(1, 32)
RATIOS = st.floats(0.0, 1.0)


def wanted_cores(threads: int, computing: float) -> float:
    """What threads want on average, less one standard deviation."""
    return threads * computing - math.sqrt(threads * computing * (1 - computing))


@given(cores=CORES, computing=st.floats(0.001, 1.0))
def test_threads_want_the_cores_and_no_thread_more_would(cores: int, computing: float) -> None:
    threads = threads_for(cores, computing)
    assert wanted_cores(threads, computing) <= cores + 1e-6
    assert wanted_cores(threads + 1, computing) > cores - 1e-6


def shared(computing: float, level: int, rate_tuples_s: float) -> Share:
    """A period of which a thread computed a share."""
    seen = ElementObservation(1.0, max(round(rate_tuples_s), 1), rate_tuples_s, level, 64, {"a": 1.0, "b": 2.0})
    return Share(seen, 200, computing, 1 - computing)


@given(
    cores=CORES,
    computing=st.floats(0.01, 1.0),
    policy=st.sampled_from(POLICIES),
    seen=st.lists(st.tuples(RATIOS, st.floats(0.5, 2.0)), min_size=30, max_size=80),
)
def test_contention_never_gets_an_element_more_than_its_cores_bear(
    cores: int, computing: float, policy: str, seen: list[tuple[float, float]]
) -> None:
    """Beside others, and just after them, any part of a thread's computing may look like waiting; every thread pays."""
    request = ElasticThreads(policy=policy)  # type: ignore[arg-type]
    control, alone = ThreadControl(request, cores), 1
    for hidden, noise in seen:
        level = control.level
        assert level <= (cores if computing >= 0.5 else max(cores, threads_for(cores, computing)))
        alone = alone + 1 if level == 1 else 0
        share = computing if alone > 1 else computing * hidden
        control.take(shared(share, level, 1e3 * level * noise))
        control = ThreadControl(request, cores, learned_from_text(control.learned.to_text()))


@given(
    cores=CORES,
    periods=st.lists(st.tuples(st.booleans(), RATIOS), max_size=60),
)
def test_more_than_the_cores_needs_two_periods_alone(cores: int, periods: list[tuple[bool, float]]) -> None:
    share, lowest = CoreShare(), 1.0
    before = 1.0
    for alone, seen in periods:
        share = share.after_alone(seen, cores) if alone else share.after_several(seen, cores, at_most=True)
        lowest = min(lowest, max(seen, before)) if alone else lowest
        before = seen if alone else 1.0
        assert share.most(cores) <= max(cores, threads_for(cores, lowest))
        assert lowest < 0.5 or not share.waits


def test_a_look_takes_two_periods_and_one_where_the_first_says_that_it_computes() -> None:
    first = CoreShare().after_alone(0.1, 2)
    assert (first.is_looking, first.waits) == (True, False)
    assert first.after_alone(0.2, 2) == CoreShare(0.2, waits=True, is_looking=False, before=0.2)
    assert first.after_alone(0.9, 2).most(2) == 2
    assert not CoreShare().after_alone(0.9, 2).is_looking
    assert not CoreShare().after_alone(None, 2).is_looking


def test_an_element_that_waits_no_longer_is_found_at_any_level() -> None:
    waiting = CoreShare(0.1, waits=True, is_looking=False)
    assert waiting.after_several(0.6, 2, at_most=False).waits
    after = waiting.after_several(0.8, 2, at_most=False)
    assert (after.waits, after.most(2)) == (False, 2)


def test_what_seems_to_wait_beside_others_is_looked_at_less_and_less_often_while_that_is_in_vain() -> None:
    share, looks = CoreShare(1.0, is_looking=False), []
    for period in range(160):
        share = share.after_alone(1.0, 2) if share.is_looking else share.after_several(0.1, 2, at_most=True)
        if share.is_looking:
            looks.append(period)
    assert looks == [9, 30, 71, 152]
    assert not CoreShare(1.0, is_looking=False, periods=100).after_several(0.1, 2, at_most=False).is_looking


@pytest.mark.parametrize(("before", "after"), [(1.0, 0.1), (0.3, 0.03)])
def test_an_element_that_begins_to_wait_more_gets_more_threads(before: float, after: float) -> None:
    """At the most that it may have it is looked at, and what one thread alone shows counts."""
    control = ThreadControl(ElasticThreads(), 2)
    for computing, periods in ((before, 40), (after, 80)):
        for _ in range(periods):
            control.take(shared(computing, control.level, 1e3 * control.level))
    assert control.learned.most == min(64, threads_for(2, after))
    assert control.level > threads_for(2, before)
