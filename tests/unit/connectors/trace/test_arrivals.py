"""Rates by name: their means and shapes, and moments that are known by hand."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.connectors.trace.arrivals import Arrivals, generated_arrivals
from penstock.connectors.trace.rates import SHAPES


def rates(arrivals: Arrivals, count: int = 200) -> list[float]:
    period_s = float(arrivals.edges_s[-1])
    return [arrivals.rate_tuples_s(period_s * (i + 0.5) / count) for i in range(count)]


@pytest.mark.parametrize("name", list(SHAPES))
def test_every_rate_has_the_mean_asked_for_at_any_speed(name: str) -> None:
    for speed_up in (1.0, 100.0):
        arrivals = generated_arrivals(name, 1000.0, seed=3, speed_up=speed_up)
        period_s = SHAPES[name].period_s / speed_up
        assert arrivals.edges_s[-1] == pytest.approx(period_s)
        assert arrivals.arrived_by(period_s) == pytest.approx(1000.0 * period_s, rel=1e-6, abs=1)
        assert arrivals.arrived_by(3 * period_s) == pytest.approx(3000.0 * period_s, rel=1e-6, abs=1)


def test_at_a_constant_rate_tuple_n_comes_at_n_over_rate() -> None:
    trace = ps.sources.trace(rate_tuples_s=8).open()
    moments = trace.arrival_s(np.array([0, 1, 8, 8_000_001]))
    assert moments is not None
    assert moments.tolist() == [0.0, 0.125, 1.0, 1_000_000.125]
    assert [trace.arrived_by(t) for t in (-1.0, 0.0, 0.125, 0.13, 1.0)] == [0, 0, 1, 2, 8]


def test_a_step_doubles_and_a_spike_is_short_and_five_times_as_high() -> None:
    low, high = (generated_arrivals("step", 30.0, seed=1, period_s=10).rate_tuples_s(t) for t in (4.9, 5.1))
    assert (low, high) == pytest.approx((20.0, 40.0))
    spike = rates(generated_arrivals("spike", 100.0, seed=1))
    assert max(spike) == pytest.approx(5 * min(spike))
    assert sum(rate > 2 * min(spike) for rate in spike) == 10


def test_a_day_is_quiet_at_four_and_busiest_in_the_evening() -> None:
    hourly = rates(generated_arrivals("diurnal", 100.0, seed=1), 24)
    assert 2 <= int(np.argmin(hourly)) <= 5
    assert 17 <= int(np.argmax(hourly)) <= 21
    assert min(hourly) > 0


def test_a_trading_day_is_busiest_at_its_open_and_its_close_and_noisy() -> None:
    arrivals = generated_arrivals("trading_day", 100.0, seed=1)
    half_hours = np.diff([arrivals.arrived_by(1800.0 * i) for i in range(14)])
    assert half_hours[0] > 1.5 * half_hours[6] < half_hours[-1]
    assert np.std(np.diff(np.log(rates(arrivals, 2000)))) > 0.02


def test_a_random_walk_is_its_seeds_own_and_ends_where_it_began() -> None:
    one, same, other = (rates(generated_arrivals("random_walk", 100.0, seed), 3600) for seed in (1, 1, 2))
    assert one == same != other
    assert max(one) > 1.5 * min(one)
    assert one[-1] == pytest.approx(one[0], rel=0.2)


def test_an_unbounded_trace_has_no_moments_and_all_of_its_tuples_at_once() -> None:
    assert ps.sources.trace("unbounded").open().arrived_by(1.0) is None
    trace = ps.sources.trace("unbounded", total=5).open()
    assert (trace.arrived_by(0.0), trace.arrival_s(np.arange(5)), trace.total) == (5, None, 5)


def test_a_total_ends_a_trace() -> None:
    trace = ps.sources.trace(rate_tuples_s=10, total=15).open()
    assert [trace.arrived_by(t) for t in (1.0, 2.0, 100.0)] == [10, 15, 15]


def test_nothing_comes_while_the_rate_is_zero_and_nothing_after_the_end() -> None:
    arrivals = Arrivals(np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.0, 0.0, 2.0, 2.0]), repeats=False)
    assert arrivals.arrival_s(np.arange(3)).tolist() == [1.0, 1.5, np.inf]
    assert [arrivals.arrived_by(t) for t in (0.5, 1.0, 1.1, 1.6, 9.0)] == [0, 0, 1, 2, 2]
    assert [arrivals.rate_tuples_s(t) for t in (-1.0, 0.5, 1.5, 4.0)] == [0.0, 0.0, 2.0, 0.0]
    again = Arrivals(arrivals.edges_s, arrivals.counts, repeats=True)
    assert again.arrival_s(np.arange(5)).tolist() == [1.0, 1.5, 5.0, 5.5, 9.0]
