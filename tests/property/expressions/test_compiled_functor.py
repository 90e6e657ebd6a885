"""A compiled functor gives the bytes of the vectorised one, and both the values of the slow reference."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.block.column import ArrowColumn, Column, FixedColumn, column_of
from penstock.expressions import parse
from penstock.expressions.evaluation.compiled_functor import FunctorKernel
from tests.property.expressions.test_evaluate import is_same
from tests.reference.expression_strategies import SCHEMA, table, tuples
from tests.reference.expressions import reference

NEVER = 1 << 60
# A bounded set, since every shape compiles two kernels.
SHAPES: tuple[tuple[str | None, tuple[str, ...]], ...] = (
    ("x > 0.5 and i < 5", ("x", "i", "c", "t", "p", "k", "u", "z", "s", "l")),
    (None, ("x * y + z", "(x - y) / (i + 1)", "i * k - u", "i // k", "x % y", "i % k", "-x", "c", "s")),
    ("c = 'Trade' or c in ('é', 'nowhere') or c is null", ("i + seq_num()", "upper(c) || s", "if(c <> 'aA', x, z)")),
    ("s like '%a%' or length(s) > i", ("round(x, 1)", "sign(y)", "cast(x as int8)", "cast(y as float32)", "s")),
    (
        "not (p and q) or t > timestamp '2000-01-01'",
        ("coalesce(x, y, 0.5)", "case when p then i when q then k end", "least(x, y)", "greatest(i, k, u)", "p or q"),
    ),
    (
        None,
        (
            "date_trunc('month', t)",
            "year(t) * 100 + day_of_week(t)",
            "t + seconds(z)",
            "exp(z) + sin(z)",
            "nullif(i, k)",
        ),
    ),
)


@cache
def kernels(shape: int) -> tuple[FunctorKernel, FunctorKernel]:
    where, emits = SHAPES[shape]
    parts = (None if where is None else parse(where), tuple(parse(emit) for emit in emits), SCHEMA)
    return FunctorKernel(*parts, compile_after_rows=0), FunctorKernel(*parts, compile_after_rows=NEVER)


def assert_same_bytes(one: Column, other: Column) -> None:
    assert one.type == other.type
    assert type(one) is type(other)
    if isinstance(one, ArrowColumn):
        assert one.array.equals(other.to_arrow())
        return
    assert not isinstance(other, ArrowColumn)
    assert (one.valid is None) == (other.valid is None)
    assert one.valid is None or other.valid is None or one.valid.tobytes() == other.valid.tobytes()
    first, second = (c.values if isinstance(c, FixedColumn) else c.codes for c in (one, other))
    assert first.dtype == second.dtype
    # processors may give a NaN either sign
    if first.dtype.kind == "f":
        assert np.array_equal(np.isnan(first), np.isnan(second))
        first, second = np.where(np.isnan(first), 0, first), np.where(np.isnan(second), 0, second)
    assert first.tobytes() == second.tobytes()


def plain(column: Column) -> list[Any]:
    array = column.to_arrow()
    return list(array.cast(pa.int64() if pa.types.is_timestamp(array.type) else array.type).to_pylist())


def assert_equal_to_reference(shape: int, rows: list[dict[str, Any]], first: int, chosen: Any, columns: Any) -> None:
    where, emits = SHAPES[shape]
    numbered = list(enumerate(rows, first))
    passing = [n for n, row in numbered if where is None or reference(parse(where), row, SCHEMA, n) is True]
    assert (list(range(len(rows))) if chosen is None else chosen.tolist()) == [n - first for n in passing]
    for emit, column in zip(emits, columns, strict=True):
        if "exp" in emit:
            continue
        wanted = [reference(parse(emit), rows[n - first], SCHEMA, n) for n in passing]
        assert all(is_same(a, b) for a, b in zip(plain(column), wanted, strict=True)), emit


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@settings(max_examples=25, deadline=None)
@given(data=st.data(), with_nulls=st.booleans(), cuts=st.lists(st.integers(0, 100), max_size=3))
def test_compiled_is_vectorised_is_reference(shape: int, data: Any, with_nulls: bool, cuts: list[int]) -> None:
    rows = data.draw(st.lists(tuples(with_nulls=with_nulls), max_size=15))
    arrays = table(rows)
    edges = sorted({0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)})
    for start, stop in pairwise(edges if len(edges) > 1 else [0, 0]):
        block = tuple(column_of(array.slice(start, stop - start)) for array in arrays.values())
        results = [kernel.process(block, stop - start, start) for kernel in kernels(shape)]
        (chosen, columns), (other_chosen, other_columns) = results
        if chosen is None or other_chosen is None:
            assert chosen is other_chosen
        else:
            assert chosen.dtype == np.int64
            assert chosen.tolist() == other_chosen.tolist()
        for one, other in zip(columns, other_columns, strict=True):
            assert_same_bytes(one, other)
        assert_equal_to_reference(shape, rows[start:stop], start, chosen, columns)
