"""The values that a count window keeps equal those of plain lists, however the stream is cut, nulls included."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.column import FixedColumn, column_of, numpy_type
from penstock.kernels.windows.aggregates import AggregateCall
from penstock.kernels.windows.count.count_window import CountWindow

SHAPES = [(1, 1), (3, 2), (64, 1), (70, 5)]  # a kernel each, which is compiled: few
TYPES = [pa.float64(), pa.float32(), pa.int64(), pa.int8(), pa.uint64(), pa.bool_(), pa.timestamp("us")]


def value_of(type_: pa.DataType, number: int) -> Any:
    if pa.types.is_boolean(type_):
        return number % 2 == 1
    if pa.types.is_floating(type_):
        return number / 4
    if type_ == pa.uint64():
        return 2**64 - 1 - number
    return number


def plain(groups: list[int], values: list[Any], size: int, every: int) -> list[list[Any]]:
    held: dict[int, deque[Any]] = defaultdict(lambda: deque(maxlen=size))
    seen: dict[int, int] = defaultdict(int)
    fired = []
    for group, value in zip(groups, values, strict=True):
        held[group].append(value)
        seen[group] += 1
        if seen[group] % every == 0:
            fired.append(list(held[group]))
    return fired


@pytest.mark.parametrize("type_", TYPES, ids=str)
@given(data=st.data(), shape=st.sampled_from(SHAPES), tumbling=st.booleans())
def test_kept_values_equal_plain_lists(
    type_: pa.DataType, data: st.DataObject, shape: tuple[int, int], tumbling: bool
) -> None:
    size, every = shape
    numbers = data.draw(st.lists(st.one_of(st.none(), st.integers(0, 100)), max_size=120))
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(numbers), max_size=len(numbers)))
    cuts = sorted({0, len(numbers), *data.draw(st.lists(st.integers(0, len(numbers)), max_size=3))})
    arguments = (size, every, tumbling, (AggregateCall("count"),), (numpy_type(type_),))
    window, got = CountWindow(*arguments, retained=(0,)), []
    values = [None if number is None else value_of(type_, number) for number in numbers]
    for begin, end in itertools.pairwise(cuts):
        column = column_of(pa.array(values[begin:end], type_))
        assert isinstance(column, FixedColumn)
        fired = window.process(np.array(groups[begin:end], np.int32), 3, [column])
        assert fired.offsets is not None
        retained = fired.retained[0].to_arrow().cast(pa.int64() if pa.types.is_timestamp(type_) else type_).to_pylist()
        got += [retained[a:b] for a, b in zip(fired.offsets, fired.offsets[1:], strict=False)]
        exported, window = window.export(), CountWindow(*arguments, retained=(0,))
        window.restore(exported)
    assert got == plain(groups, values, size, size if tumbling else every)
