"""ELASTIC: the Elastic Operator algorithm, line by line of its Figure 2; level n has n + 1 active threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from penstock.control.threads.elastic_operator import ElasticOperator, ElasticState
from penstock.measure.element_observation import ElementObservation

POLICY = ElasticOperator(tolerance=0.05, decay_rate=0.01)
CORES = 88


def seen(rate: float, threads: int, most: int = CORES) -> ElementObservation:
    return ElementObservation(1.0, round(rate), rate, threads, most, {"work": 1.0}, frozenset({"work"}))


def decided(state: ElasticState, rate: float, policy: ElasticOperator = POLICY, most: int = CORES) -> ElasticState:
    return policy.decide(state, seen(rate, state.n + 1, most))[0]


def state_of(
    *peaks: float | None, n: int, last: tuple[float | None, ...] | None = None, peaking: bool = False
) -> ElasticState:
    return ElasticState(n, peaking, peaks, last or peaks)


def levels(policy: ElasticOperator, rate_of: Callable[[int], float], periods: int = 200) -> list[int]:
    """Threads by period on a machine whose throughput by threads is known."""
    state, _ = policy.start(seen(0.0, 1))
    found = []
    for _ in range(periods):
        found.append(state.n + 1)
        state = decided(state, rate_of(state.n + 1), policy)
    return found


def test_less_is_a_relative_difference_of_at_least_the_tolerance() -> None:
    assert POLICY.less(100.0, 105.0)
    assert not POLICY.less(100.0, 104.9)


def test_lines_28_to_30_the_level_rises_and_creates_threads_while_the_peak_rises() -> None:
    state = decided(state_of(100.0, 190.0, n=1), 190.0)
    assert (state.n, len(state.peak)) == (2, 3)


def test_line_39_stability_from_below_where_the_last_level_brought_nothing() -> None:
    assert decided(state_of(100.0, 102.0, n=1), 102.5).n == 1


def test_line_36_stability_from_above_where_the_next_level_was_worse() -> None:
    assert decided(state_of(100.0, 190.0, 150.0, n=1), 191.0).n == 1


def test_line_33_a_suspended_thread_wakes_only_where_it_performed_better() -> None:
    assert decided(state_of(100.0, 190.0, 280.0, n=1), 191.0).n == 2


def test_line_14_a_rate_below_this_levels_peak_suspends_a_thread_and_peaks() -> None:
    state = decided(state_of(100.0, 190.0, 280.0, n=2), 200.0)
    assert (state.n, state.peaking) == (1, True)


def test_line_14_a_higher_peak_below_suspends_a_thread() -> None:
    state = decided(state_of(100.0, 190.0, 150.0, n=2), 150.5)
    assert (state.n, state.peaking) == (1, True)


def test_line_15_thread_0_is_never_suspended() -> None:
    assert decided(state_of(100.0, n=0), 10.0, most=1).n == 0


@pytest.mark.parametrize(("rate", "level"), [(199.9, 2), (200.0, 1)])
def test_lines_5_to_10_the_lower_level_stays_only_if_it_is_not_slower_by_a_strict_comparison(
    rate: float, level: int
) -> None:
    state = decided(state_of(100.0, 190.0, 280.0, n=1, last=(100.0, 190.0, 200.0), peaking=True), rate)
    assert (state.n, state.peaking) == (level, False)


def test_a_new_peak_replaces_the_old_one_and_a_much_higher_one_invalidates_those_above() -> None:
    assert decided(state_of(100.0, 190.0, 280.0, n=1), 195.0).peak == (100.0, 195.0, 280.0)
    assert decided(state_of(100.0, 190.0, 280.0, n=1), 300.0).peak == (100.0, 300.0, None)


def test_a_peak_that_is_not_reached_decays() -> None:
    assert decided(state_of(100.0, 190.0, 200.0, n=1), 188.0).peak[1] == pytest.approx(190.0 * 0.99)


def test_threads_are_never_destroyed() -> None:
    state = state_of(100.0, 190.0, 280.0, n=2)
    for rate in (50.0, 50.0, 40.0, 40.0):
        state = decided(state, rate)
        assert len(state.peak) == 3


def test_external_load_lowers_the_level_and_its_end_raises_it_again() -> None:
    state, _ = POLICY.start(seen(0.0, 1))
    by_phase = []
    for cores in (8, 3, 8):
        for _ in range(120):
            state = decided(state, 100.0 * min(state.n + 1, cores) - 8.0 * max(state.n + 1 - cores, 0))
        by_phase.append(state.n + 1)
    assert by_phase[1] < by_phase[0] == by_phase[2] == 9, "the first level that brings nothing is kept"


@pytest.mark.parametrize(("tolerance", "most"), [(0.05, 22), (0.01, CORES)])
def test_a_level_that_brings_less_than_the_tolerance_ends_the_climb(tolerance: float, most: int) -> None:
    """Of n threads one more brings 1/n: a tolerance of 0.05 stops at some 20 threads, however many cores there are."""
    found = levels(ElasticOperator(tolerance, 0.005), lambda threads: 100.0 * threads)
    assert abs(max(found) - most) <= 1


@pytest.mark.parametrize("cores", [16, CORES])
def test_a_low_tolerance_reaches_more_and_is_more_restless_under_noise(cores: int) -> None:
    def run(tolerance: float, decay: float) -> tuple[float, int]:
        """Mean rate of the later half over the best, and changes in 100 periods."""
        random = np.random.default_rng(7)
        found = levels(
            ElasticOperator(tolerance, decay),
            lambda n: 100.0 * min(n, cores) * (1 + 0.01 * random.standard_normal()),
            400,
        )
        later = found[200:]
        changes = sum(a != b for a, b in itertools.pairwise(later))
        return sum(min(n, cores) for n in later) / len(later) / cores, changes // 2

    shown, swept = run(0.05, 0.01), run(0.01, 0.005)
    assert swept[0] > 0.95 or cores == 16
    assert shown[0] > 0.95 if cores == 16 else shown[0] < 0.5
    assert shown[1] <= swept[1]
