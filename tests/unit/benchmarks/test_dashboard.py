"""The arithmetic of the dashboard's benchmark."""

from __future__ import annotations

import pytest

from benchmarks.dashboard.dashboard import Found, interval, slope_mb_h


def test_ratios_are_of_neighbouring_turns() -> None:
    assert Found([100.0, 200.0], [99.0, 202.0]).ratios == [0.99, 1.01]


def test_an_interval_holds_the_median() -> None:
    low, high = interval([0.98, 1.0, 1.0, 1.0, 1.02])
    assert low <= 1.0 <= high
    assert interval([1.0]) == (1.0, 1.0)


def test_a_slope_is_by_the_hour() -> None:
    assert slope_mb_h([(0.0, 10.0), (1800.0, 11.0)]) == pytest.approx(2.0)
    assert slope_mb_h([(0.0, 10.0)]) == 0.0
