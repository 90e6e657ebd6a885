"""Conversions between text and everything else: casts, and timestamps read and written by a format."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.block.column import Array, ArrowColumn, CodedColumn, FixedColumn, Mask, column_of
from penstock.block.schema import SYMBOL, TIMESTAMP
from penstock.expressions.evaluation.text import Evaluation, Operands
from penstock.expressions.evaluation.values import Value, finished, fixed_of, operand
from penstock.expressions.kinds import kind_of
from penstock.expressions.patterns import FORMAT_CODES, MONTHS, format_parts
from penstock.kernels.codegen import elementwise
from penstock.kernels.text.calendar import DAY, HOUR, MINUTE, SECOND

_WHOLE = r"^[+-]?[0-9]+$"
_NUMBER = r"^(?i:[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+(?:e[+-]?[0-9]+)?|inf|infinity|nan))$"
_ISO = r"^\s*(?P<Y>[+-]?[0-9]{4,6})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})(?:[ T](?P<H>[0-9]{2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:\.(?P<f>[0-9]{1,6}))?)?)?Z?\s*$"  # noqa: E501
_TRUE, _FALSE = ("true", "t", "1"), ("false", "f", "0")
_DEFAULTS = {"Y": 1970, "m": 1, "d": 1, "b": 1, "H": 0, "M": 0, "S": 0, "f": 0}
_INTEGERS = (-(2**63), 2**63 - 1)


def _cast(call: Operands) -> Value:
    """A cast from or to text; casts between fixed-width types are numeric forms."""
    wanted, value = call.node.type, call.values[0]
    given = call.node.arguments[0].type
    if kind_of(wanted) == "list":
        return ArrowColumn(pa.nulls(call.rows, wanted)) if kind_of(given) == "unknown" else value
    if kind_of(wanted) != "text":
        return _from_text(call.text(), wanted)
    if wanted == SYMBOL and isinstance(value, CodedColumn):
        return value
    text = call.text() if kind_of(given) in ("text", "unknown") else _to_text(value, given, call.rows)
    return column_of(text.dictionary_encode(), SYMBOL) if wanted == SYMBOL else ArrowColumn(text)


def _to_text(value: Value, given: pa.DataType, rows: int) -> pa.Array:
    column = finished(value, given, rows)
    assert isinstance(column, FixedColumn)
    if kind_of(given) == "timestamp":
        return _written(column.values, column.valid, "%Y-%m-%d %H:%M:%S.%f")
    return column.to_arrow().cast(pa.string())


def _from_text(text: pa.Array, wanted: pa.DataType) -> Value:
    """Text that does not say such a value is null."""
    kind = kind_of(wanted)
    if kind == "timestamp":
        return _read(text, _ISO)
    trimmed = pc.ascii_trim_whitespace(text)
    if kind == "boolean":
        return _boolean(pc.utf8_lower(trimmed))
    pattern = _WHOLE if kind == "integer" else _NUMBER
    number = pc.if_else(pc.match_substring_regex(trimmed, pattern), trimmed, pa.scalar(None, pa.string()))
    if kind == "float":
        return fixed_of(number.cast(pa.float64()), wanted)
    return _integer(number, wanted)


def _integer(digits: pa.Array, wanted: pa.DataType) -> Value:
    """Whole numbers in range; longer texts are judged by their digits without leading zeros."""
    bare = pc.replace_substring_regex(digits, r"^\+?(-?)0*([0-9])", r"\1\2")
    limits = np.iinfo(wanted.to_pandas_dtype())
    low, high = max(int(limits.min), _INTEGERS[0]), min(int(limits.max), _INTEGERS[1])
    wide = bare.cast(pa.decimal256(76), safe=False) if len(bare) and _longest(bare) > 18 else bare.cast(pa.int64())
    inside = pc.and_(pc.greater_equal(wide, pa.scalar(low, wide.type)), pc.less_equal(wide, pa.scalar(high, wide.type)))
    inside_text = pc.if_else(inside, bare, pa.scalar(None, pa.string()))
    return fixed_of(inside_text.cast(pa.int64()).cast(wanted), wanted)


def _longest(texts: pa.Array) -> int:
    return pc.max(pc.binary_length(texts)).as_py() or 0


def _boolean(lowered: pa.Array) -> Value:
    is_true, is_false = (
        np.asarray(pc.is_in(lowered, pa.array(words)).to_numpy(zero_copy_only=False)) for words in (_TRUE, _FALSE)
    )
    return FixedColumn(is_true, pa.bool_(), is_true | is_false)


def _to_timestamp(call: Operands) -> Value:
    return _read(call.text(), _pattern_of(call.literal(1)))


def _pattern_of(format_: str) -> str:
    parts = (
        re.escape(plain) if code is None else f"(?P<{code}>{FORMAT_CODES[code]})"
        for code, plain in format_parts(format_)
    )
    return f"^{''.join(parts)}$"


def _read(text: pa.Array, pattern: str) -> Value:
    """Timestamps of texts by a pattern whose groups are named after the codes of formats."""
    found = pc.extract_regex(text, pattern)
    names = [found.type.field(place).name for place in range(found.type.num_fields)]
    parts = {code: np.full((), value) for code, value in _DEFAULTS.items()}
    parts |= {name: _part(name, found.field(name)) for name in names}
    month = parts["b"] if "b" in names else parts["m"]
    year, day = parts["Y"], parts["d"]
    good = np.asarray(pc.is_valid(found).to_numpy(zero_copy_only=False)) & (month >= 1) & (month <= 12)
    good &= (day >= 1) & (parts["H"] < 24) & (parts["M"] < 60) & (parts["S"] < 60)
    three = "int64(int64, int64, int64)"
    month = np.where(good, month, 1)
    good &= day <= elementwise.ufunc("days_in_month", "int64(int64, int64)")(year, month)
    moment = elementwise.ufunc("days_of", three)(year, month, day) * DAY
    moment = moment + parts["H"] * HOUR + parts["M"] * MINUTE + parts["S"] * SECOND + parts["f"]
    return FixedColumn(np.broadcast_to(moment, good.shape), TIMESTAMP, good)


def _part(code: str, texts: pa.Array) -> Array:
    """The numbers of one part; a part left out has its default."""
    if code == "b":
        return np.asarray(pc.index_in(pc.utf8_upper(texts), pa.array(MONTHS)).fill_null(-1), np.int64) + 1
    if code == "f":
        texts = pc.if_else(pc.equal(texts, ""), "", pc.utf8_rpad(texts, 6, "0"))
    texts = pc.replace_substring_regex(texts, r"^\+", "")
    return np.asarray(
        pc.if_else(pc.equal(texts, ""), str(_DEFAULTS[code]), texts).cast(pa.int64()).fill_null(1), np.int64
    )


def _format_timestamp(call: Operands) -> Value:
    moments, valid = operand(call.values[0], "int64")
    spread = np.broadcast_to(moments, (call.rows,))
    known = None if valid is None else np.broadcast_to(valid, (call.rows,))
    return ArrowColumn(_written(spread, known, call.literal(1)))


def _written(moments: Array, valid: Mask | None, format_: str) -> pa.Array:
    pieces = [plain if code is None else _piece(code, moments) for code, plain in format_parts(format_)]
    if all(isinstance(piece, str) for piece in pieces):
        text = pa.repeat("".join(map(str, pieces)), len(moments))
    else:
        text = pc.binary_join_element_wise(*pieces, "")
    return (
        text if valid is None else pc.if_else(pa.array(np.ascontiguousarray(valid)), text, pa.scalar(None, pa.string()))
    )


def _piece(code: str, moments: Array) -> pa.Array:
    """One part of a timestamp as text."""
    if code == "Y":
        years, places = np.unique(elementwise.ufunc("year", "int64(int64)")(moments), return_inverse=True)
        return pa.array([f"{year:04d}" for year in years.tolist()], pa.string()).take(pa.array(places))
    if code == "b":
        return _month_names().take(pa.array(elementwise.ufunc("month", "int64(int64)")(moments) - 1))
    if code == "f":
        return pc.utf8_lpad(pa.array(moments % SECOND).cast(pa.string()), 6, "0")
    if code in ("m", "d"):
        return _two_digits().take(
            pa.array(elementwise.ufunc({"m": "month", "d": "day"}[code], "int64(int64)")(moments))
        )
    size, cycle = {"H": (HOUR, 24), "M": (MINUTE, 60), "S": (SECOND, 60)}[code]
    return _two_digits().take(pa.array(moments // size % cycle))


@functools.cache
def _two_digits() -> pa.Array:
    """Made when it is needed, since Arrow imports pandas for its first array."""
    return pa.array([f"{number:02d}" for number in range(100)])


@functools.cache
def _month_names() -> pa.Array:
    return pa.array([month.capitalize() for month in MONTHS])


EVALUATIONS: Mapping[str, Evaluation] = {
    "cast": _cast,
    "to_string": _cast,
    "to_integer": _cast,
    "to_float": _cast,
    "to_timestamp": _to_timestamp,
    "format_timestamp": _format_timestamp,
}
