"""The trading application computes what plain Python computes, and what Levenberg-Marquardt finds."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.cli.demo.limit_prices import LimitPrices, ask
from penstock.cli.demo.price_service import limit_price, price_service
from penstock.cli.demo.quotes import Quotes
from penstock.cli.demo.regression import Regression, fitted
from penstock.cli.demo.trading import market, trading
from tests.reference.levenberg_marquardt import levenberg_marquardt
from tests.reference.trading import estimates

SHAPE: dict[str, Any] = {"window": 40, "every": 5, "degree": 3, "resolution_us": 1000, "horizon_us": 2000}
EXACT = ("symbol", "time_us", "open", "high", "low", "close", "points")


def quotes(rows: int = 900, symbols: int = 7, rate_quotes_s: float = 9000.0) -> pa.Table:
    return Quotes(symbols, rate_quotes_s)(np.arange(rows))


@functools.cache
def wanted() -> list[dict[str, Any]]:
    return estimates(quotes().to_pylist(), **SHAPE)


def check(found: pa.Table, wanted: list[dict[str, Any]]) -> None:
    rows = found.to_pylist()
    assert [[row[name] for name in EXACT] for row in rows] == [[row[name] for name in EXACT] for row in wanted]
    for row, right in zip(rows, wanted, strict=True):
        # How far off the arithmetic may be grows with the coefficients that it adds up.
        slack = 1e-11 * max(1.0, *(abs(c) * 0.1**k for k, c in enumerate(right["coefficients"])))
        assert row["forecast"] == pytest.approx(right["forecast"], abs=slack)
        assert row["error"] == pytest.approx(right["error"], abs=1e-9)
        assert row["coefficients"] == pytest.approx(right["coefficients"], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("block_rows", [1, 97, 8192])
def test_estimates_equal_plain_python(block_rows: int) -> None:
    found = ps.evaluate(trading(**SHAPE), {"quotes": quotes()}, block_rows=block_rows)
    check(found["out"], wanted())
    assert any(row["points"] < 40 for row in found["out"].to_pylist()[-20:])  # some quotes share a millisecond


def test_quotes_out_of_order_count_to_their_interval() -> None:
    table = quotes()
    shuffled = pa.array(np.random.default_rng(1).permutation(table.column("time_us").to_numpy()))
    table = table.set_column(1, "time_us", shuffled)
    shape = {**SHAPE, "resolution_us": 20_000, "horizon_us": 0}
    check(ps.evaluate(trading(**shape), {"quotes": table})["out"], estimates(table.to_pylist(), **shape))


def test_windows_with_fewer_intervals_than_coefficients_get_a_lower_degree() -> None:
    table = pa.table({"symbol": ["A"] * 5, "time_us": [10, 20, 2010, 2020, 2030], "price": [1.0, 3.0, 4.0, 5.0, 6.0]})
    table = table.append_column("volume", pa.array([1.0] * 5))
    shape = {**SHAPE, "window": 5}
    found = ps.evaluate(trading(**shape), {"quotes": table})["out"]
    check(found, estimates(table.to_pylist(), **shape))
    assert found.column("points").to_pylist() == [2]
    assert found.column("coefficients").to_pylist()[0][2:] == [0.0, 0.0]


@given(
    prices=st.lists(st.floats(1, 100), min_size=6, max_size=60),
    degree=st.integers(0, 4),
    gaps_ms=st.lists(st.integers(1, 40), min_size=60, max_size=60),
)
def test_least_squares_is_where_levenberg_marquardt_ends(prices: list[float], degree: int, gaps_ms: list[int]) -> None:
    times_us = 1000 * np.cumsum(gaps_ms[: len(prices)])
    windows = np.array([0, len(prices)])
    _, fits, _, coefficients = fitted(windows, times_us, np.array(prices), degree, 1000, 0, 5)
    span_s = (times_us[-1] - times_us[0]) / 1e6
    x = (times_us - times_us[-1]) / 1e6 / span_s
    found = levenberg_marquardt(x, np.array(prices), degree)
    ours = coefficients[0] * span_s ** np.arange(degree + 1)
    assert ours == pytest.approx(found, rel=1e-6, abs=1e-5)
    assert fits[0, 0] == pytest.approx(found[0], rel=1e-6, abs=1e-5)


def test_the_service_gives_every_window_its_limit_price() -> None:
    table = quotes(300)
    with price_service(delay_ms=0.1) as port:
        found = ps.evaluate(trading(**SHAPE, service=port), {"quotes": table})["out"]
        assert ask("127.0.0.1", port, b"n") == found.num_rows > 20
    plain = ps.evaluate(trading(**SHAPE), {"quotes": table})["out"]
    assert found.drop_columns(["limit_price"]).equals(plain)
    pairs = zip(plain.column("close").to_pylist(), plain.column("forecast").to_pylist(), strict=True)
    assert found.column("limit_price").to_pylist() == [limit_price(*pair) for pair in pairs]


def test_a_service_that_was_started_again_is_asked_again_and_one_that_is_gone_is_told() -> None:
    block = pa.record_batch({"close": [10.0], "forecast": [11.0]})
    with price_service(delay_ms=0.0) as port:
        assert LimitPrices(port)(block)["limit_price"] == [10.5]
        assert ask("127.0.0.1", port, b"d", 2.0) == 2.0
    with pytest.raises(ConnectionError, match=f"the price service at 127.0.0.1:{port} does not answer"):
        LimitPrices(port)(block)
    found = ps.evaluate(trading(**SHAPE, service=port), {"quotes": quotes(300)})
    assert found["out"].num_rows == 0
    assert "does not answer" in found.dead_letters.column("reason")[0].as_py()


def test_a_service_that_serves_one_at_once_keeps_the_order() -> None:
    with price_service(delay_ms=0.5, at_once=1) as port:
        block = pa.record_batch({"close": [1.0, 2.0, 3.0], "forecast": [1.0, 2.0, 3.0]})
        assert LimitPrices(port)(block)["limit_price"] == [1.0, 2.0, 3.0]


def test_several_trace_files_are_one_symbol_each(tmp_path: Any) -> None:
    for name, counts in {"KO": (30, 10), "IBM": (5, 40)}.items():
        rows = "".join(f"{60 * i},{count}\n" for i, count in enumerate(counts))
        (tmp_path / f"volume_{name}.csv").write_text("timestamp,value\n" + rows)
    source = market(sorted(tmp_path.glob("*.csv")), None, speed_up=60)
    shape = {**SHAPE, "window": 10}
    found = ps.evaluate(trading(source, **shape))["out"]
    assert {row["symbol"] for row in found.to_pylist()} == {"KO", "IBM"}
    assert found.num_rows == 40 // 5 + 45 // 5


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Regression(degree=12), "a regression needs a whole number as degree, 0 to 9; got 12"),
        (lambda: Regression(every=0), "a regression needs a whole number as every, at least 1; got 0"),
        (lambda: Quotes(symbols=0), "quotes need a whole number of symbols of at least 1; got 0"),
        (lambda: Quotes(volatility=0.0), "quotes need a positive number as volatility; got 0.0"),
    ],
)
def test_what_cannot_be_is_told(make: Any, sentence: str) -> None:
    with pytest.raises(ps.errors.InputError, match=sentence):
        make()


def test_quotes_depend_on_their_offset_alone_and_prices_walk() -> None:
    whole = quotes(5000, symbols=20)
    picked = Quotes(20, 9000.0)(np.array([4000, 17, 17]))
    assert picked.to_pylist() == [whole.to_pylist()[i] for i in (4000, 17, 17)]
    assert (np.diff(whole.column("time_us").to_numpy()) >= 0).all()
    slow = Quotes(20, 10.0, seed=3)(np.arange(20_000)).to_pandas()
    own = slow[slow.symbol == slow.symbol.mode()[0]].price.to_numpy()
    assert np.abs(np.diff(own)).mean() < np.abs(own[200:] - own[:-200]).mean() / 3  # far off is much further away
    shares = slow.symbol.value_counts(normalize=True)
    assert 0.1 < shares.iloc[0] < 0.25
    assert shares.iloc[-1] > 0.005
