"""The window join's kernel equals its definition, however the stream is cut and whenever the stores are."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernels.joins.window_join import JoinWindow, WindowJoin
from tests.reference.window_join import ReferenceJoin

tuples = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(-2, 4)), max_size=60)
cuts_of_a_stream = st.lists(st.integers(0, 60), max_size=8)
counts = st.builds(JoinWindow, st.just("count"), st.integers(1, 12), st.booleans())
any_window = counts | st.builds(JoinWindow, st.sampled_from(["time", "delta"]), st.integers(1, 12), st.booleans())


class Stores:
    """Rows of both ports as a caller keeps them: here a row is its number since the stream's beginning."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray[Any, Any]] = [np.zeros(0, np.int64), np.zeros(0, np.int64)]
        self.seen = [0, 0]

    def append(self, ports: Any) -> None:
        for port in range(2):
            new = int((ports == port).sum())
            self.rows[port] = np.concatenate([self.rows[port], self.seen[port] + np.arange(new)])
            self.seen[port] += new

    def compact(self, join: WindowJoin) -> None:
        for port in range(2):
            live = join.live(port)
            self.rows[port] = self.rows[port][live]
            join.renumber(port, live)
            assert join.store_rows(port) == len(live)


def run(sides: Any, stream: list[Any], cuts: list[int], values: Any) -> list[tuple[int, int, int]]:
    join, stores, made = WindowJoin(*sides), Stores(), []
    bounds = [0, *sorted(cut for cut in cuts if cut <= len(stream)), len(stream)]
    for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
        ports = np.array([row[0] for row in stream[start:stop]], np.uint8)
        keys = np.array([row[1] for row in stream[start:stop]], np.int32)
        pairs = join.process(ports, keys, int(keys.max(initial=-1)) + 1, None if values is None else values[start:stop])
        stores.append(ports)
        left, right = stores.rows[0][pairs.left], stores.rows[1][pairs.right]
        made += list(zip((pairs.trigger + start).tolist(), left.tolist(), right.tolist(), strict=True))
        if number % 2:
            stores.compact(join)
    return made


def reference(sides: Any, stream: list[Any], values: Any) -> list[tuple[int, int, int]]:
    join, made = ReferenceJoin(sides), []
    for row, (port, key, _) in enumerate(stream):
        value = 0 if values is None else values[row].item()
        made += [(row, left, right) for left, right in join.push(port, key, value)]
    return made


@given(sides=st.tuples(counts, counts), stream=tuples, cuts=cuts_of_a_stream)
@settings(max_examples=60, deadline=None)
def test_count_windows_equal_the_definition(sides: Any, stream: list[Any], cuts: list[int]) -> None:
    assert run(sides, stream, cuts, None) == reference(sides, stream, None)


@pytest.mark.parametrize("type_", [np.int64, np.float64])
@given(sides=st.tuples(any_window, any_window), stream=tuples, cuts=cuts_of_a_stream, ascending=st.booleans())
@settings(max_examples=60, deadline=None)
def test_all_windows_equal_the_definition(
    type_: Any, sides: Any, stream: list[Any], cuts: list[int], ascending: bool
) -> None:
    steps = np.array([step for _, _, step in stream], type_)
    values = np.cumsum(np.abs(steps) if ascending else steps).astype(type_)
    assert run(sides, stream, cuts, values) == reference(sides, stream, values)


@given(sides=st.tuples(any_window, any_window), stream=tuples)
@settings(max_examples=50, deadline=None)
def test_live_rows_are_those_that_the_definition_holds(sides: Any, stream: list[Any]) -> None:
    values = np.cumsum([step for _, _, step in stream]).astype(np.int64)
    join, definition = WindowJoin(*sides), ReferenceJoin(sides)
    join.process(np.array([r[0] for r in stream], np.uint8), np.array([r[1] for r in stream], np.int32), 4, values)
    for (port, key, _), value in zip(stream, values.tolist(), strict=True):
        definition.push(port, key, value)
    for port in range(2):
        assert join.live(port).tolist() == [held.row for held in definition.held[port]]
