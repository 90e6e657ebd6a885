"""The time window's kernel equals its definition, and its results do not know how the stream was cut."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.block.column import FixedColumn
from penstock.kernels.windows.aggregates import AggregateCall
from penstock.kernels.windows.time.time_window import TimeFired, TimeWindow
from tests.reference.time_window import Output, ReferenceTimeWindow

FUNCTIONS = ("sum", "count", "avg", "min", "max", "stddev", "first", "last")
FLOATS = (AggregateCall("count", None), *(AggregateCall(function, 0) for function in FUNCTIONS))
MIXED = (
    AggregateCall("min", 0),
    AggregateCall("sum", 0),
    AggregateCall("max", 1),
    AggregateCall("sum", 1),
    AggregateCall("avg", 1),
    AggregateCall("first", 2),
    AggregateCall("max", 2),
    AggregateCall("sum", 2),
    AggregateCall("min", 3),
    AggregateCall("avg", 3),
)
FLOAT_TYPES = (np.dtype(np.float64),)
MIXED_TYPES = tuple(np.dtype(t) for t in (np.int64, np.uint64, np.bool_, np.float32))

quarters = st.integers(-(2**20), 2**20).map(lambda n: n / 4)
any_float = st.floats(allow_nan=True, allow_infinity=True)
steps = st.one_of(st.integers(-4, 4), st.integers(0, 30), st.sampled_from([0, 0, 1, 10**15]))


@st.composite
def streams(draw: st.DrawFn, value: st.SearchStrategy[Any], nulls: bool) -> list[tuple[int, int, Any]]:
    rows, clock = [], draw(st.integers(-100, 100))
    for step in draw(st.lists(steps, max_size=40)):
        clock += step
        item = draw(st.none() | value) if nulls else draw(value)
        rows.append((draw(st.integers(0, 4)), clock, item if isinstance(item, tuple) else (item,)))
    return rows


def block(rows: list[Any], types: tuple[np.dtype[Any], ...]) -> tuple[Any, ...]:
    columns = []
    for place, type_ in enumerate(types):
        items = [values[place] for _, _, values in rows]
        valid = np.array([item is not None for item in items], np.bool_)
        filled = np.array([0 if item is None else item for item in items], type_)
        columns.append(FixedColumn(filled, pa.from_numpy_dtype(type_), None if valid.all() else valid))
    groups = np.array([group for group, _, _ in rows], np.int32)
    return groups, int(groups.max(initial=-1)) + 1, np.array([event for _, event, _ in rows], np.int64), columns


def outputs(fired: TimeFired, first_row: int) -> list[Output]:
    masks = [np.ones(len(fired.rows), np.bool_) if c.valid is None else c.valid for c in fired.columns]
    return [
        Output(
            int(fired.rows[i]) + first_row,
            int(fired.groups[i]),
            int(fired.ends_us[i]),
            tuple(c.values[i].item() if mask[i] else None for c, mask in zip(fired.columns, masks, strict=True)),
        )
        for i in range(len(fired.rows))
    ]


def run(window: TimeWindow, rows: list[Any], cuts: list[int], types: Any) -> tuple[list[Output], list[int]]:
    """Outputs and late rows of a stream given in blocks; the state is written out and read back at every third cut."""
    fired, late = [], []
    bounds = [0, *sorted(cut for cut in cuts if cut <= len(rows)), len(rows)]
    for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
        result = window.process(*block(rows[start:stop], types))
        fired += outputs(result, start)
        late += [int(row) + start for row in result.late]
        if number % 3 == 2:
            window.restore(window.export())
    return fired, late


def reference(size: int, every: int, calls: Any, rows: list[Any]) -> tuple[list[Output], list[int]]:
    window, fired, late = ReferenceTimeWindow(size, every, calls), [], []
    for row, (group, event, values) in enumerate(rows):
        result = window.push(row, group, event, values)
        late += [row] if result is None else []
        fired += result or []
    return fired, late


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def assert_alike(got: list[Output], expected: list[Output]) -> None:
    assert [o[:3] for o in got] == [o[:3] for o in expected]
    for one, other in zip(got, expected, strict=True):
        assert all(map(alike, one.results, other.results)), (one, other)


cuts_of_a_stream = st.lists(st.integers(0, 40), max_size=12)
panes_held = st.sampled_from([1, 2, 3, 7, 40])
every_us = st.sampled_from([1, 3, 10])


@pytest.mark.parametrize("nulls", [False, True])
@given(data=st.data(), panes=panes_held, every=every_us, cuts=cuts_of_a_stream)
@settings(max_examples=80, deadline=None)
def test_floats_equal_the_definition(nulls: bool, data: st.DataObject, panes: int, every: int, cuts: list[int]) -> None:
    rows = data.draw(streams(quarters, nulls))
    got = run(TimeWindow(panes * every, every, FLOATS, FLOAT_TYPES), rows, cuts, FLOAT_TYPES)
    expected = reference(panes * every, every, FLOATS, rows)
    assert_alike(got[0], expected[0])
    assert got[1] == expected[1]


def test_a_log_that_went_round_its_ring_many_times_equals_the_definition() -> None:
    chance = np.random.default_rng(7)
    events = np.cumsum(chance.choice([0, 0, 0, 0, 1, 9], 12_000, p=[0.2, 0.2, 0.2, 0.2, 0.19, 0.01]))
    groups = np.where(chance.random(12_000) < 0.99, chance.integers(0, 12, 12_000), chance.integers(12, 400, 12_000))
    rows = [(int(group), int(event), (1.0,)) for group, event in zip(groups, events, strict=True)]
    window, got = TimeWindow(120, 3, FLOATS, FLOAT_TYPES), []
    for start in range(0, len(rows), 100):
        got += outputs(window.process(*block(rows[start : start + 100], FLOAT_TYPES)), start)
    assert_alike(got, reference(120, 3, FLOATS, rows)[0])


mixed_values = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.integers(0, 2**64 - 1),
    st.none() | st.booleans(),
    st.none() | st.integers(-100, 100).map(float),
)


@given(rows=streams(mixed_values, nulls=False), panes=panes_held, every=every_us, cuts=cuts_of_a_stream)
@settings(max_examples=80, deadline=None)
def test_all_types_equal_the_definition(rows: list[Any], panes: int, every: int, cuts: list[int]) -> None:
    got = run(TimeWindow(panes * every, every, MIXED, MIXED_TYPES), rows, cuts, MIXED_TYPES)
    assert_alike(got[0], reference(panes * every, every, MIXED, rows)[0])


@given(rows=streams(any_float, nulls=False), panes=panes_held, every=every_us, cuts=cuts_of_a_stream)
@settings(max_examples=80, deadline=None)
def test_results_are_equal_to_the_bit_however_the_stream_is_cut(
    rows: list[Any], panes: int, every: int, cuts: list[int]
) -> None:
    whole = run(TimeWindow(panes * every, every, FLOATS, FLOAT_TYPES), rows, [], FLOAT_TYPES)
    pieces = run(TimeWindow(panes * every, every, FLOATS, FLOAT_TYPES), rows, cuts, FLOAT_TYPES)
    assert repr(whole) == repr(pieces)
