"""Random expressions as texts, typed so that they check, and random tuples for them to read."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from penstock.block.schema import schema_of

SCHEMA = schema_of(
    {"i": "int64", "k": "int16", "u": "uint64", "x": "float64", "y": "float64", "z": "float32", "p": "bool"}
    | {"q": "bool", "t": "timestamp", "s": "string", "c": "symbol", "l": "list<string>", "n": "list<int64>"}
)
ALPHABET = "aAbZé0 -_%,:5"
TEXTS = st.one_of(st.text(ALPHABET, max_size=6), st.sampled_from(["12", "-7", "1.5", " 3 ", "true", "nan", "Trade"]))
FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 0.5, -2.5, 1e300, 2.0**63]),
    st.floats(-1000, 1000, width=32),
)
INTEGERS = st.one_of(st.integers(-5, 5), st.sampled_from([2**63 - 1, -(2**63), 10**15]))
MOMENTS = st.integers(-(10**16), 4 * 10**15)

_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i": INTEGERS,
    "k": st.integers(-(2**15), 2**15 - 1),
    "u": st.sampled_from([0, 1, 7, 2**64 - 1, 2**63]),
    "x": FLOATS,
    "y": FLOATS,
    "z": st.floats(-100, 100, width=32),
    "p": st.booleans(),
    "q": st.booleans(),
    "t": MOMENTS,
    "s": TEXTS,
    "c": st.sampled_from(["Trade", "Quote", "aA", "é", ""]),
    "l": st.lists(st.one_of(st.none(), TEXTS), max_size=3),
    "n": st.lists(st.one_of(st.none(), st.integers(-9, 9)), max_size=3),
}


def tuples(*, with_nulls: bool = True, names: tuple[str, ...] = tuple(_VALUES)) -> st.SearchStrategy[dict[str, Any]]:
    """One tuple of SCHEMA, or of some of its attributes."""
    return st.fixed_dictionaries(
        {name: st.one_of(st.none(), _VALUES[name]) if with_nulls else _VALUES[name] for name in names}
    )


def table(rows: list[dict[str, Any]], names: tuple[str, ...] = tuple(_VALUES)) -> dict[str, pa.Array]:
    """Tuples as Arrow arrays by name."""
    return {name: pa.array([row[name] for row in rows], SCHEMA.field(name).type) for name in names}


def _joined(form: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda found: form.format(*found))


_INT_LEAVES = st.one_of(st.sampled_from(["i", "k", "u", "seq_num()"]), st.integers(-3, 9).map(str), st.just("null"))
_FLOAT_LEAVES = st.sampled_from(["x", "y", "z", "0.5", "-2.5", "1e300", "0.0", "-0.0"])
_BOOL_LEAVES = st.sampled_from(["p", "q", "true", "null"])
_TEXT_LEAVES = st.sampled_from(["s", "c", "'Trade'", "'é0'", "''", "null"])
_MOMENT_LEAVES = st.sampled_from(["t", "timestamp '2005-12-27 14:23:05.123456'"])


def expressions(kind: str, depth: int = 3) -> st.SearchStrategy[str]:
    """Texts of expressions of a kind: int, float, bool, text or moment."""
    leaves = {"int": _INT_LEAVES, "float": _FLOAT_LEAVES, "bool": _BOOL_LEAVES, "text": _TEXT_LEAVES}
    leaf = leaves.get(kind, _MOMENT_LEAVES)
    if depth == 0:
        return leaf
    integer, real, condition, text, moment = (
        st.deferred(lambda kind=kind: expressions(kind, depth - 1))  # type: ignore[misc]
        for kind in ("int", "float", "bool", "text", "moment")
    )
    number = st.one_of(integer, real)
    forms: dict[str, list[st.SearchStrategy[str]]] = {
        "int": _integer_forms(integer, real, condition, text, moment),
        "float": _float_forms(integer, real, number, condition),
        "bool": _bool_forms(integer, number, condition, text, moment),
        "text": _text_forms(integer, condition, text, moment),
        "moment": _moment_forms(moment),
    }
    return st.one_of(leaf, *forms[kind])


def _moment_forms(moment: st.SearchStrategy[str]) -> list[st.SearchStrategy[str]]:
    return [
        _joined("({} + {} * 1000)", _MOMENT_LEAVES, st.integers(-9, 9).map(str)),
        _joined("date_trunc('{}', {})", st.sampled_from(["day", "week", "month", "quarter", "hour"]), moment),
        _joined("coalesce({}, {})", moment, moment),
    ]


def _integer_forms(
    integer: st.SearchStrategy[str],
    real: st.SearchStrategy[str],
    condition: st.SearchStrategy[str],
    text: st.SearchStrategy[str],
    moment: st.SearchStrategy[str],
) -> list[st.SearchStrategy[str]]:
    operators = st.sampled_from(["+", "-", "*", "//", "%"])
    return [
        _joined("({} {} {})", integer, operators, integer),
        _joined("{}({})", st.sampled_from(["abs", "sign", "-", "round", "floor"]), integer),
        _joined("round({}, {})", integer, st.integers(-3, 2).map(str)),
        _joined("{}({})", st.sampled_from(["to_integer", "seconds"]), real),
        _joined("cast(cast({} as {}) as int64)", integer, st.sampled_from(["int8", "uint16", "uint64", "int64"])),
        _joined("{}({})", st.sampled_from(["year", "month", "day", "hour", "minute", "day_of_week"]), moment),
        _joined("case when {} then {} when {} then {} end", condition, integer, condition, integer),
        _joined("{}({}, {})", st.sampled_from(["least", "greatest", "coalesce", "nullif"]), integer, integer),
        _joined("select({}, {}, {})", integer, integer, integer),
        _joined("length({})", text),
        _joined("position({}, '{}')", text, st.sampled_from(["a", "é", "0"])),
        _joined("to_integer({})", text),
    ]


def _float_forms(
    integer: st.SearchStrategy[str],
    real: st.SearchStrategy[str],
    number: st.SearchStrategy[str],
    condition: st.SearchStrategy[str],
) -> list[st.SearchStrategy[str]]:
    return [
        _joined("({} {} {})", real, st.sampled_from(["+", "-", "*", "/", "%"]), number),
        _joined("({} / {})", integer, integer),
        _joined("{}({})", st.sampled_from(["abs", "sign", "-", "round", "floor", "ceil", "trunc", "sqrt"]), real),
        _joined("round({}, {})", real, st.integers(-2, 3).map(str)),
        _joined("if({}, {}, {})", condition, real, number),
        _joined("{}({}, {})", st.sampled_from(["least", "greatest", "coalesce", "nullif"]), real, number),
        _joined("cast({} as float32)", real),
        _joined("to_float({})", integer),
    ]


def _bool_forms(
    integer: st.SearchStrategy[str],
    number: st.SearchStrategy[str],
    condition: st.SearchStrategy[str],
    text: st.SearchStrategy[str],
    moment: st.SearchStrategy[str],
) -> list[st.SearchStrategy[str]]:
    compare = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    alike = [_joined("({} {} {})", one, compare, one) for one in (number, text, moment, condition)]
    return [
        *alike,
        _joined("({} {} {})", condition, st.sampled_from(["and", "or"]), condition),
        _joined("(not {})", condition),
        _joined("({} is null)", st.one_of(number, text, condition)),
        _joined("({} between {} and {})", number, number, number),
        _joined("({} in ({}, {}, {}))", text, text, text, text),
        _joined("({} not in ({}, {}))", integer, integer, integer),
        _joined("({} like '{}')", text, st.sampled_from(["%a%", "_rade", "é%", "%", "0\\%"])),
        _joined("{}({}, 'a')", st.sampled_from(["starts_with", "ends_with", "contains"]), text),
        _joined("regex_contains({}, '[0-9]+|T')", text),
        _joined("is_nan({})", number),
    ]


def _text_forms(
    integer: st.SearchStrategy[str],
    condition: st.SearchStrategy[str],
    text: st.SearchStrategy[str],
    moment: st.SearchStrategy[str],
) -> list[st.SearchStrategy[str]]:
    return [
        _joined("({} || {} || 'x')", text, text),
        _joined("{}({})", st.sampled_from(["upper", "lower", "trim", "ltrim", "rtrim", "reverse"]), text),
        _joined("substring({}, {}, {})", text, integer, st.integers(-1, 4).map(str)),
        _joined("substring({}, {})", text, st.integers(-2, 4).map(str)),
        _joined("replace({}, 'a', '{}')", text, st.sampled_from(["", "zz"])),
        _joined("lpad({}, 4, '*')", text),
        _joined("repeat({}, {})", text, st.integers(-1, 3).map(str)),
        _joined("case when {} then {} else {} end", condition, text, text),
        _joined("{}({}, {})", st.sampled_from(["coalesce", "least", "greatest", "nullif"]), text, text),
        _joined("regex_replace({}, '([a-z])', '<\\1>'{})", text, st.sampled_from(["", ", false"])),
        _joined("regex_extract({}, '([0-9])(.)?', {})", text, st.integers(0, 2).map(str)),
        _joined("split({}, ',')[{}]", text, st.integers(0, 3).map(str)),
        _joined("to_string({})", st.one_of(integer, condition)),
        _joined("format_timestamp({}, '%d-%b-%Y %H:%M:%S.%f')", moment),
    ]
