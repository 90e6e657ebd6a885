"""Whole-column evaluation equals the slow reference, tuple by tuple, for random expressions and random block cuts."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.block.column import Column, column_of
from penstock.expressions import parse
from penstock.expressions.evaluation.environment import Environment, Key
from penstock.expressions.evaluation.evaluate import evaluate
from tests.reference.expression_strategies import SCHEMA, TEXTS, expressions, table, tuples
from tests.reference.expressions import reference

SETTINGS = settings(max_examples=100, deadline=None)


def evaluated(text: str, rows: list[dict[str, Any]], cuts: list[int]) -> list[Any]:
    """The values of an expression over blocks cut at the given rows."""
    arrays, values = table(rows), []
    edges = sorted({0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)})
    for start, stop in pairwise(edges):
        columns: dict[Key, Column] = {}
        for name, array in arrays.items():
            columns[None, name] = column_of(array.slice(start, stop - start))
        array = evaluate(parse(text), Environment(stop - start, columns, start)).to_arrow()
        values += array.cast(pa.int64() if pa.types.is_timestamp(array.type) else array.type).to_pylist()
    return values


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (one != one and other != other) or (one == other and math.copysign(1, one) == math.copysign(1, other))
    return type(one) is type(other) and bool(one == other)


def assert_equal_to_reference(text: str, rows: list[dict[str, Any]], cuts: list[int]) -> None:
    wanted = [reference(parse(text), row, SCHEMA, number) for number, row in enumerate(rows)]
    got = evaluated(text, rows, cuts)
    assert len(got) == len(wanted)
    for row, one, other in zip(rows, got, wanted, strict=True):
        assert is_same(one, other), f"{text} of {row} gives {one!r}, and the reference {other!r}"


ROWS = st.lists(tuples(), min_size=1, max_size=12)
CUTS = st.lists(st.integers(0, 100), max_size=3)


@SETTINGS
@given(expressions("int"), ROWS, CUTS)
def test_integers(text: str, rows: list[dict[str, Any]], cuts: list[int]) -> None:
    assert_equal_to_reference(f"coalesce({text}, cast(null as int64))", rows, cuts)


@SETTINGS
@given(expressions("float"), ROWS, CUTS)
def test_floats(text: str, rows: list[dict[str, Any]], cuts: list[int]) -> None:
    assert_equal_to_reference(text, rows, cuts)


@SETTINGS
@given(expressions("bool"), ROWS, CUTS)
def test_conditions(text: str, rows: list[dict[str, Any]], cuts: list[int]) -> None:
    assert_equal_to_reference(f"coalesce({text}, cast(null as bool))", rows, cuts)


@SETTINGS
@given(expressions("text"), ROWS, CUTS)
def test_texts(text: str, rows: list[dict[str, Any]], cuts: list[int]) -> None:
    assert_equal_to_reference(f"coalesce({text}, cast(null as string))", rows, cuts)


@SETTINGS
@given(expressions("moment"), ROWS, CUTS)
def test_moments(text: str, rows: list[dict[str, Any]], cuts: list[int]) -> None:
    assert_equal_to_reference(text, rows, cuts)


@pytest.mark.parametrize(
    "text",
    [
        "l[i]", "n[k]", "list_length(l)", "list_contains(l, s)", "list_contains(n, i)", "list_contains(l, 'Trade')",
        "list_sum(n)", "list_min(n)", "list_max(n)", "coalesce(n, cast(null as list<int64>))",
        "if(p, l, split(s, ','))",
        "split(c, 'a')", "regex_match(s, '(.)(-)?(.*)')", "regex_match(c, '[A-Z].*')", "regex_match(s, '((a)|b)+')",
        "cast(s as bool)", "cast(s as int8)", "cast(s as uint64)", "to_float(s)", "cast(c as symbol)",
        "cast(z as int64)", "cast(x as uint8)", "cast(u as float64)", "cast(u as uint64)", "cast(t as string)",
        "cast(p as int32)", "cast(i as timestamp)", "x + y > z or c = 'Trade' and s <> c", "upper(c) in ('TRADE', 'É')",
    ],
)  # fmt: skip
@settings(max_examples=15, deadline=None)
@given(rows=ROWS, cuts=CUTS)
def test_lists_and_conversions(text: str, rows: list[dict[str, Any]], cuts: list[int]) -> None:
    assert_equal_to_reference(text, rows, cuts)


@pytest.mark.parametrize("name", ["exp", "ln", "log10", "sin", "cos", "tan"])
@settings(max_examples=15, deadline=None)
@given(rows=ROWS)
def test_transcendental_functions_are_near(name: str, rows: list[dict[str, Any]]) -> None:
    rows = [row | {"x": None if row["x"] is not None and math.isinf(row["x"]) else row["x"]} for row in rows]
    for row, got in zip(rows, evaluated(f"{name}(x)", rows, []), strict=True):
        wanted = reference(parse(f"{name}(x)"), row, SCHEMA)
        assert is_same(got, wanted) or math.isclose(got, wanted, rel_tol=1e-14)


DATES = st.one_of(
    st.dates().map(str), st.sampled_from(["27-DEC-2005", "3-jan-1999", "31-FEB-2001", "2001-2-3", "x", ""])
)
TIMES = st.one_of(st.times().map(str), st.sampled_from(["1:2:3", "24:00:00", "14:23:05.12", "14:23", "1:2:3.", ""]))


@SETTINGS
@given(st.lists(st.tuples(st.one_of(DATES, TEXTS), st.one_of(TIMES, TEXTS)), min_size=1, max_size=8))
def test_dates_and_times_are_read(pairs: list[tuple[str, str]]) -> None:
    schema = pa.schema({"d": pa.string(), "h": pa.string()})
    columns: dict[Key, Column] = {
        (None, "d"): column_of(pa.array([d for d, _ in pairs])),
        (None, "h"): column_of(pa.array([h for _, h in pairs])),
    }
    for text in ("timestamp_to_microseconds(d, h)", "to_timestamp(d, '%Y-%m-%d')", "cast(d || ' ' || h as timestamp)"):
        array = evaluate(parse(text), Environment(len(pairs), columns)).to_arrow().cast(pa.int64())
        assert array.to_pylist() == [reference(parse(text), {"d": d, "h": h}, schema) for d, h in pairs]
