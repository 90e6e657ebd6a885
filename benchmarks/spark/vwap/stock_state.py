"""`vwap_per_ticker` by the stateful functions of stock PySpark: the last three trades of a ticker are its state.

Rows of a group come in the order of the shuffle, so each function sorts them first.  A processor is called by its
methods' names alone: no base class, since only penstock.spark imports pyspark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # type: ignore[import-untyped]

from benchmarks.spark.vwap.stock_tuples import RESULTS, RESULTS_SQL, Frame

HELD = 3
# Plain columns: a state with two arrays in it makes applyInPandasWithState of Spark 4.3.0 fail on its own schema.
STATE_SQL = "n int, p1 double, p2 double, p3 double, v1 double, v2 double, v3 double"
Floats = npt.NDArray[np.float64]
State = tuple[Any, ...]
Held = tuple[list[float], list[float]]


def by_transform_with_state_in_pandas(trades: Frame) -> Frame:
    return trades.groupBy("ticker").transformWithStateInPandas(PandasProcessor(), RESULTS_SQL, "Append", "None")


def by_transform_with_state_rows(trades: Frame) -> Frame:
    return trades.groupBy("ticker").transformWithState(RowProcessor(), RESULTS_SQL, "Append", "None")


def by_apply_in_pandas_with_state(trades: Frame) -> Frame:
    grouped = trades.groupBy("ticker")
    return grouped.applyInPandasWithState(apply_with_state, RESULTS_SQL, STATE_SQL, "append", "NoTimeout")


def held_of(state: State | None) -> Held:
    """Prices and volumes, oldest first."""
    n = 0 if state is None else state[0]
    return ([], []) if state is None else (list(state[1 : 1 + n]), list(state[1 + HELD : 1 + HELD + n]))


def state_of(held: Held) -> State:
    prices, volumes = (values[-HELD:] for values in held)
    padding = [0.0] * (HELD - len(prices))
    return (len(prices), *prices, *padding, *volumes, *padding)


def in_order(frames: Iterable[pd.DataFrame]) -> tuple[Floats, Floats]:
    """Prices and volumes by sequence; arrays cost less than sorting frames."""
    parts = list(frames)
    seq, price, volume = (
        np.concatenate([part[name].to_numpy() for part in parts]) for name in ("seq", "price", "volume")
    )
    order = np.argsort(seq, kind="stable")
    return price[order], volume[order]


def last_prices(ticker: int, price: Floats, volume: Floats, held: Held) -> tuple[pd.DataFrame, Held]:
    """The results of a ticker's new trades in order, and what to hold; `held` are the trades before them."""
    before, new = len(held[0]), len(price)
    p, v = np.concatenate([held[0], price]), np.concatenate([held[1], volume])
    notional, shares = _window_sums(p * v, before), _window_sums(v, before)
    n = np.minimum(np.arange(before + 1, before + new + 1), HELD + 1)
    mean = _window_sums(p, before) / n
    low, high = (_shifted(p, before, fill).min(0) if fill > 0 else _shifted(p, before, fill).max(0)
                 for fill in (np.inf, -np.inf))  # fmt: skip
    columns = (np.full(new, ticker, np.int32), n.astype(np.int32), low, high, mean, notional, shares)
    results = pd.DataFrame(dict(zip(RESULTS, (*columns, notional / shares, price * 100.0), strict=True)))
    return results, (p[-HELD:].tolist(), v[-HELD:].tolist())


def _shifted(values: Floats, before: int, fill: float) -> Floats:
    """Four rows: the new values, and those one, two and three places before them."""
    padded = np.concatenate([np.full(HELD, fill), values])
    new = len(values) - before
    return np.stack([padded[len(padded) - new - lag : len(padded) - lag] for lag in range(HELD + 1)])


def _window_sums(values: Floats, before: int) -> Floats:
    sums: Floats = _shifted(values, before, 0.0).sum(0)
    return sums


class _Processor:
    """Holds a ticker's trades in a value state."""

    def init(self, handle: Any) -> None:
        self._held = handle.getValueState("held", STATE_SQL)

    def close(self) -> None:
        pass


class PandasProcessor(_Processor):
    """For transformWithStateInPandas."""

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        price, volume = in_order(rows)
        results, now_held = last_prices(int(key[0]), price, volume, held_of(self._held.get()))
        self._held.update(state_of(now_held))
        yield results


class RowProcessor(_Processor):
    """For transformWithState, which gives rows one by one."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        prices, volumes = held_of(self._held.get())
        ordered = sorted(rows, key=lambda row: row["seq"])
        make = type(ordered[0])  # a Row
        for row in ordered:
            prices, volumes = [*prices[-HELD:], row["price"]], [*volumes[-HELD:], row["volume"]]
            yield make(**_row(int(key[0]), prices, volumes))
        self._held.update(state_of((prices, volumes)))


def _row(ticker: int, prices: list[float], volumes: list[float]) -> dict[str, float]:
    notional = sum(p * v for p, v in zip(prices, volumes, strict=True))
    shares, n = sum(volumes), len(prices)
    values = (ticker, n, min(prices), max(prices), sum(prices) / n, notional, shares, notional / shares)
    return dict(zip(RESULTS, (*values, prices[-1] * 100.0), strict=True))


def apply_with_state(key: Any, frames: Iterable[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """For applyInPandasWithState."""
    price, volume = in_order(frames)
    results, now_held = last_prices(int(key[0]), price, volume, held_of(state.get if state.exists else None))
    state.update(state_of(now_held))
    yield results
