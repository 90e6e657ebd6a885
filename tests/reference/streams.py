"""Random streams for the engine's tests: short, and full of what goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from penstock.block.schema import schema_of
from tests.reference.checking import table_of
from tests.reference.events import Row

TRADES = {
    "key": "symbol",
    "name": "string",
    "x": "float64",
    "n": "int64",
    "u": "uint64",
    "flag": "bool",
    "t": "timestamp",
}

words = st.sampled_from(["a", "b", "ü", "日本", ""])
quarters = st.integers(-400, 400).map(lambda n: n / 4)  # their sums are exact, in whatever order
odd_floats = st.sampled_from([float("nan"), float("inf"), float("-inf"), -0.0, 0.0])
wild_floats = st.floats(-1e9, 1e9)
small_integers = st.integers(-3, 3)
wide_integers = st.one_of(small_integers, st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1]))
steps_us = st.one_of(st.integers(0, 1_500_000), st.sampled_from([0, 0, 250_000, -400_000, 7_000_000]))


@st.composite
def trades(draw: st.DrawFn, *, odd: bool = True, most: int = 45) -> pa.Table:
    """Trades; `odd` ones have nulls, NaN, infinities and the ends of int64."""
    numbers, integers = (quarters | odd_floats, wide_integers) if odd else (quarters, small_integers)
    has_nulls = draw(st.booleans()) if odd else False
    unsigned = st.integers(0, 4) | st.just(2**64 - 1) if odd else st.integers(0, 4)
    columns: Mapping[str, st.SearchStrategy[Any]] = {
        "key": words, "name": words, "x": numbers, "n": integers, "u": unsigned, "flag": st.booleans(),
    }  # fmt: skip
    rows: list[Row] = []
    clock = draw(st.integers(-3_000_000, 3_000_000))
    for step in draw(st.lists(steps_us, max_size=most)):
        clock += step
        rows.append({name: draw(st.none() | s if has_nulls else s) for name, s in columns.items()} | {"t": clock})
    return table_of(rows, schema_of(TRADES))


PLAIN = {"k": "symbol", "x": "float64", "n": "int64", "s": "float64"}

stamps = st.one_of(st.integers(0, 12).map(float), st.integers(0, 40).map(lambda n: n / 3))
odd_stamps = st.sampled_from([None, float("nan"), float("inf")])


@st.composite
def plain(draw: st.DrawFn, *, odd: bool = False, most: int = 14) -> pa.Table:
    """Tuples with a stamp `s` that mostly ascends, often stands still and sometimes goes back."""
    numbers: st.SearchStrategy[Any] = quarters | odd_floats | st.none() if odd else quarters
    times = sorted(draw(st.lists(stamps, max_size=most)))
    moved = [draw(st.sampled_from([t, t, t, t - 2.0])) for t in times]
    rows: list[Row] = [
        {
            "k": draw(words | st.none() if odd else words),
            "x": draw(numbers),
            "n": draw(small_integers),
            "s": draw(odd_stamps | st.just(t)) if odd and draw(st.integers(0, 9)) == 0 else t,
        }
        for t in moved
    ]
    return table_of(rows, schema_of(PLAIN))
