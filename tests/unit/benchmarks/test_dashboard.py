"""The arithmetic of the dashboard's benchmark."""

from __future__ import annotations

import pytest

from benchmarks.dashboard.dashboard import Found, interval, slope_mb_h


def test_a_steady_drift_within_a_round_is_no_cost() -> None:
    rates = [100.0, 110.0, 120.0, 130.0, 140.0, 150.0, 160.0, 170.0]  # without, with, with, without
    found = Found([rates[0], rates[3], rates[4], rates[7]], [rates[1], rates[2], rates[5], rates[6]])
    assert found.ratios == [1.0, 1.0]
    assert Found([100.0, 100.0], [98.0, 98.0]).ratios == [0.98]


def test_an_interval_holds_the_mean() -> None:
    low, high = interval([0.98, 1.0, 1.0, 1.0, 1.02])
    assert low <= 1.0 <= high
    assert interval([1.0]) == (1.0, 1.0)


def test_a_slope_is_by_the_hour() -> None:
    assert slope_mb_h([(0.0, 10.0), (1800.0, 11.0)]) == pytest.approx(2.0)
    assert slope_mb_h([(0.0, 10.0)]) == 0.0
