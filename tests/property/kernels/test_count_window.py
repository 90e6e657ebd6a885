"""Generated count windows equal the reference, and do not change by a bit with the stream's cuts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.column import FixedColumn
from penstock.kernels.windows.aggregates import FUNCTIONS, AggregateCall
from penstock.kernels.windows.count.count_window import CountWindow, Fired
from tests.reference.count_window import ReferenceCountWindow

# (size, every, tumbling): each way to hold a window, with and without a rest
SHAPES = [(4, 1, False), (7, 1, False), (20, 1, False), (3, 3, True), (70, 70, True), (2, 5, False)]
SUM_SHAPES = [(4, 1, False), (20, 1, False), (3, 3, True), (6, 2, False)]
SHAPES += [(6, 2, False), (8, 3, False), (20, 2, False), (29, 3, False), (1, 1, True)]
# entries in several chunks
SHAPES += [(41, 1, False), (41, 3, False)]
GROUPS = 3
ROWS = 90
CALLS = (AggregateCall("count"), *(AggregateCall(function, 0) for function in FUNCTIONS))
SUMS = tuple(AggregateCall(function, 0) for function in ("sum", "min", "max", "avg"))

FLOATS = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 0.0]))
INTEGERS = st.integers(-(2**63), 2**63 - 1)


def stream(data: st.DataObject, value: st.SearchStrategy[Any], nulls: bool) -> tuple[list[int], list[Any]]:
    rows = data.draw(st.integers(0, ROWS))
    groups = data.draw(st.lists(st.integers(0, GROUPS - 1), min_size=rows, max_size=rows))
    choice = st.one_of(st.none(), value) if nulls else value
    return groups, data.draw(st.lists(choice, min_size=rows, max_size=rows))


def run(
    window: CountWindow, groups: list[int], values: list[Any], dtype: str, edges: list[int]
) -> list[tuple[int, Fired]]:
    """What each block fired, with the block's first row."""
    valid = np.array([value is not None for value in values], np.bool_)
    numbers = np.array([0 if value is None else value for value in values], dtype)
    fired = []
    for start, stop in itertools.pairwise(edges):
        mask = None if valid[start:stop].all() else valid[start:stop]
        column = FixedColumn(numbers[start:stop], pa.from_numpy_dtype(numbers.dtype), mask)
        fired.append((start, window.process(np.array(groups[start:stop], np.int32), GROUPS, [column])))
    return fired


def rows_of(fired: list[tuple[int, Fired]]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for start, block in fired:
        columns = [column.to_arrow().to_pylist() for column in block.columns]
        places = range(len(columns[0])) if block.rows is None else block.rows.tolist()
        rows += [(start + place, *values) for place, *values in zip(places, *columns, strict=True)]
    return rows


def bits_of(fired: list[tuple[int, Fired]]) -> list[tuple[Any, ...]]:
    """Rows with floats as hexadecimal text, so that equal means equal to the bit."""
    return [tuple(v.hex() if isinstance(v, float) else v for v in row) for row in rows_of(fired)]


def edges_of(data: st.DataObject, rows: int) -> list[int]:
    return sorted({0, rows, *data.draw(st.lists(st.integers(0, rows), max_size=4))})


def expected_rows(
    shape: tuple[int, int, bool], groups: list[int], values: list[Any], is_float: bool
) -> list[tuple[Any, ...]]:
    reference = ReferenceCountWindow(*shape, [(call.function, call.argument) for call in CALLS], [is_float])
    results = [
        (row, reference.add(group, (value,))) for row, (group, value) in enumerate(zip(groups, values, strict=True))
    ]
    return [(row, *result) for row, result in results if result is not None]


def assert_near(got: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]], tolerance: float) -> None:
    assert len(got) == len(wanted)
    for row, expected in zip(got, wanted, strict=True):
        for value, exact in zip(row, expected, strict=True):
            if isinstance(exact, float) and isinstance(value, float):
                assert (
                    math.isnan(value) if math.isnan(exact) else value == pytest.approx(exact, rel=1e-9, abs=tolerance)
                )
            else:
                assert value == exact


@given(data=st.data())
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_floats_equal_the_reference(shape: tuple[int, int, bool], data: st.DataObject) -> None:
    groups, values = stream(data, FLOATS, nulls=data.draw(st.booleans()))
    window = CountWindow(*shape, CALLS, (np.dtype("f8"),))
    fired = run(window, groups, values, "f8", edges_of(data, len(values)))
    assert_near(rows_of(fired), expected_rows(shape, groups, values, is_float=True), tolerance=1e-3)


@given(data=st.data())
@pytest.mark.parametrize("shape", [(4, 1, False), (20, 1, False), (3, 3, True), (8, 3, False)], ids=str)
def test_integers_equal_the_reference(shape: tuple[int, int, bool], data: st.DataObject) -> None:
    groups, values = stream(data, INTEGERS, nulls=data.draw(st.booleans()))
    window = CountWindow(*shape, CALLS, (np.dtype("i8"),))
    fired = run(window, groups, values, "i8", edges_of(data, len(values)))
    assert_near(rows_of(fired), expected_rows(shape, groups, values, is_float=False), tolerance=1e7)


@given(data=st.data())
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cuts_and_snapshots_change_no_bit(shape: tuple[int, int, bool], data: st.DataObject) -> None:
    groups, values = stream(data, FLOATS, nulls=data.draw(st.booleans()))
    types = (np.dtype("f8"),)
    whole = run(CountWindow(*shape, CALLS, types), groups, values, "f8", [0, len(values)])
    window, pieces = CountWindow(*shape, CALLS, types), []
    for start, stop in itertools.pairwise(edges_of(data, len(values))):
        pieces += [
            (start, block) for _, block in run(window, groups[start:stop], values[start:stop], "f8", [0, stop - start])
        ]
        exported, window = window.export(), CountWindow(*shape, CALLS, types)
        window.restore(exported)
    assert bits_of(pieces) == bits_of(whole)


@given(data=st.data())
@pytest.mark.parametrize(
    ("shape", "calls"), [*((shape, CALLS) for shape in SHAPES), *((shape, SUMS) for shape in SUM_SHAPES)]
)
def test_knowing_nulls_changes_no_bit_where_there_are_none(
    shape: tuple[int, int, bool], calls: tuple[AggregateCall, ...], data: st.DataObject
) -> None:
    groups, values = stream(data, FLOATS, nulls=False)
    types = (np.dtype("f8"),)
    plain = run(CountWindow(*shape, calls, types), groups, values, "f8", [0, len(values)])
    # A null in a group of its own makes the window switch, at any moment of the stream.
    moment = data.draw(st.integers(0, len(values)))
    window = CountWindow(*shape, calls, types)
    before = run(window, groups[:moment], values[:moment], "f8", [0, moment])
    window.process(
        np.array([GROUPS], np.int32), GROUPS + 1, [FixedColumn(np.zeros(1), pa.float64(), np.zeros(1, np.bool_))]
    )
    after = run(window, groups[moment:], values[moment:], "f8", [0, len(values) - moment])
    assert bits_of([*before, *((start + moment, block) for start, block in after)]) == bits_of(plain)
