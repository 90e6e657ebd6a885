"""The demonstration's picture: fewer points, nothing lost of the band."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.watch.price_chart import PriceSeries, Run, binned, save_prices


def series(prices: list[float]) -> PriceSeries:
    values = np.array(prices)
    return PriceSeries("A", np.arange(len(prices), dtype=np.float64), values - 1, values + 1, values)


@given(st.lists(st.floats(1, 100), min_size=1, max_size=200), st.integers(1, 50))
def test_binning_keeps_the_lowest_low_the_highest_high_and_the_mean(prices: list[float], bins: int) -> None:
    whole = series(prices)
    points = binned(whole, bins)
    assert len(points.vwap) == min(bins, len(prices))
    assert (points.low.min(), points.high.max()) == (whole.low.min(), whole.high.max())
    assert np.all(np.diff(points.sequence) > 0)
    assert points.vwap.min() >= whole.vwap.min() - 1e-9


def test_binning_nothing_gives_nothing() -> None:
    assert len(binned(series([]), 5).vwap) == 0


@pytest.mark.parametrize("tickers", [0, 1, 3])
def test_a_picture_of_any_number_of_tickers_is_written(tmp_path: Path, tickers: int) -> None:
    run = Run("title", np.array([10.0, 20.0]), np.array([1e6, 2e6]), np.array([5.0, 3.0, 1.0]))
    paths = (tmp_path / "a.png", tmp_path / "a.svg")
    save_prices([series([1.0, 2.0, 3.0])] * tickers, run, paths)
    assert all(path.stat().st_size > 1000 for path in paths)
