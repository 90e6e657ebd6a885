"""The slow, obvious evaluator of expressions: one tuple (a dict) at a time, in plain Python; None is null.

Timestamps are integers (microseconds), lists are Python lists.  Only the types of nodes come from the checker.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any

import pyarrow as pa

from penstock.expressions.check import Scope, Typed, typed
from penstock.expressions.tree import Attribute, Call, Expression, Literal
from tests.reference import expression_texts as texts
from tests.reference import expression_times as times
from tests.reference.expression_texts import wrap


def reference(expression: Expression, row: dict[str, Any], schema: pa.Schema, sequence: int = 0) -> Any:
    """The value of an expression for one tuple."""
    return _value(typed(expression, Scope(((None, schema),))), row, sequence)


def _value(node: Typed, row: dict[str, Any], sequence: int) -> Any:
    if isinstance(node.node, Literal):
        return node.node.value
    if isinstance(node.node, Attribute):
        return row[node.node.name]
    assert isinstance(node.node, Call)
    if node.node.function == "seq_num":
        return sequence
    values = [_value(argument, row, sequence) for argument in node.arguments]
    result = _call(node.node.function, values, [a.type for a in node.arguments], node.type)
    return _as_type(result, node.type)


def _as_type(value: Any, type_: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_float32(type_):
        return _single(float(value))
    if pa.types.is_floating(type_):
        return float(value)
    if pa.types.is_uint64(type_):
        return value % 2**64
    return wrap(value) if pa.types.is_integer(type_) or pa.types.is_timestamp(type_) else value


def _single(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _call(function: str, values: list[Any], types: list[pa.DataType], type_: pa.DataType) -> Any:
    if function in _NULL_AWARE:
        return _NULL_AWARE[function]([_read(v, t) for v, t in zip(values, types, strict=True)], types)
    if any(value is None for value in values):
        return None
    numbers = [_read(v, t) for v, t in zip(values, types, strict=True)]
    if function in _COMPARISONS:
        return _COMPARISONS[function](*_alike(numbers, types))
    if function in ("cast", "to_string", "to_integer", "to_float"):
        return texts.cast(values[0], types[0], type_)
    if function in ("add", "subtract", "multiply", "negate", "modulo", "abs", "sign", "round"):
        return _arithmetic(function, numbers, pa.types.is_floating(type_), isinstance(values[0], str))
    return _STRICT[function](*numbers)


def _read(value: Any, type_: pa.DataType) -> Any:
    """An integer as int64: uint64 wraps."""
    return value if value is None or not pa.types.is_integer(type_) else wrap(value)


def _alike(numbers: list[Any], types: list[pa.DataType]) -> list[Any]:
    return [float(n) for n in numbers] if any(pa.types.is_floating(t) for t in types) else numbers


# ---- null-aware functions


def _and(values: list[Any], types: list[pa.DataType]) -> Any:
    return False if False in values else None if None in values else True


def _or(values: list[Any], types: list[pa.DataType]) -> Any:
    return True if True in values else None if None in values else False


def _case(values: list[Any], types: list[pa.DataType]) -> Any:
    for condition, value in zip(values[0:-1:2], values[1:-1:2], strict=True):
        if condition is True:
            return value
    return values[-1]


def _equal(x: Any, y: Any, types: list[pa.DataType]) -> Any:
    return _call("equal", [x, y], types, pa.bool_())


def _in(values: list[Any], types: list[pa.DataType]) -> Any:
    return _or([_equal(values[0], v, [types[0], t]) for v, t in zip(values[1:], types[1:], strict=True)], [])


def _between(values: list[Any], types: list[pa.DataType]) -> Any:
    low = _call("greater_equal", values[:2], types[:2], pa.bool_())
    return _and([low, _call("less_equal", [values[0], values[2]], [types[0], types[2]], pa.bool_())], [])


def _nullif(values: list[Any], types: list[pa.DataType]) -> Any:
    return None if _equal(values[0], values[1], types) is True else values[0]


def _select(values: list[Any], types: list[pa.DataType]) -> Any:
    index, *rest = values
    return rest[index] if index is not None and 0 <= index < len(rest) else None


def _extreme(sign: int) -> Any:
    def pick(values: list[Any], types: list[pa.DataType]) -> Any:
        present = _alike([v for v in values if v is not None], types)
        best = None
        for value in present:
            if best is None or value != value or (value < best if sign < 0 else value > best):
                best = value
        return best

    return pick


_NULL_AWARE = {
    "and": _and,
    "or": _or,
    "is_null": lambda values, types: values[0] is None,
    "case": _case,
    "if": _case,
    "coalesce": lambda values, types: next((v for v in values if v is not None), None),
    "nullif": _nullif,
    "select": _select,
    "in": _in,
    "between": _between,
    "least": _extreme(-1),
    "greatest": _extreme(1),
}
_COMPARISONS = {
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
}


# ---- numbers


def _arithmetic(function: str, numbers: list[Any], is_float: bool, is_text: bool) -> Any:
    if is_text:
        return "".join(numbers)
    if function == "round":
        return _round_float(*numbers) if is_float else _round_integer(*numbers)
    operands: list[Any] = [float(n) for n in numbers] if is_float else numbers
    x, *rest = operands
    if function == "negate":
        return -x
    if function == "abs":
        return abs(x)
    if function == "sign":
        return x if x == 0 or x != x else type(x)(1 if x > 0 else -1)
    y = rest[0]
    if function == "modulo":
        return _fmod(x, y) if is_float else _rest(x, y)
    return {"add": x + y, "subtract": x - y, "multiply": x * y}[function]


def _fmod(x: float, y: float) -> float:
    return math.nan if y == 0 or math.isinf(x) or x != x or y != y else math.fmod(x, y)


def _div(x: int, y: int) -> int | None:
    if y == 0:
        return None
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _rest(x: int, y: int) -> int | None:
    return None if y == 0 else x - (_div(x, y) or 0) * y


def _divide(x: float, y: float) -> float:
    x, y = float(x), float(y)
    if y != 0:
        return x / y
    return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1, y)


def _nearest(x: float) -> float:
    if not math.isfinite(x):
        return x
    whole = math.copysign(float(math.trunc(x)), x)
    return whole + math.copysign(1.0, x) if abs(x - whole) >= 0.5 else whole


def _round_float(x: float, digits: int = 0) -> float:
    x = float(x)
    if not math.isfinite(x):
        return x
    scale = 1.0
    for _ in range(min(abs(digits), 400)):
        scale *= 10.0
    scaled = x * scale if digits >= 0 else x / scale
    if math.isinf(scale) or math.isinf(scaled):
        return x if digits >= 0 else math.copysign(0.0, x)
    return _nearest(scaled) / scale if digits >= 0 else _nearest(scaled) * scale


def _round_integer(x: int, digits: int = 0) -> int:
    if digits >= 0:
        return x
    if digits < -18:
        return 0
    scale = int(10**-digits)
    return (abs(x) + scale // 2) // scale * scale * (-1 if x < 0 else 1)


def _total(function: Any) -> Any:
    """A function of the math module with C's results instead of exceptions."""

    def call(*numbers: float) -> float:
        try:
            return float(function(*(float(n) for n in numbers)))
        except ValueError:
            if function in (math.log, math.log10) and numbers[0] == 0:
                return -math.inf
            return math.inf if function is math.pow and numbers[0] == 0 else math.nan
        except OverflowError:
            odd = function is math.pow and numbers[0] < 0 and float(numbers[1]) % 2 == 1
            return -math.inf if odd else math.inf

    return call


def _whole(function: Any) -> Any:
    def call(x: float) -> float:
        if isinstance(x, int) or not math.isfinite(x):
            return x
        return math.copysign(float(function(x)), x)

    return call


def _duration(factor: int) -> Any:
    def call(x: float) -> int | None:
        if isinstance(x, int):
            return x * factor
        rounded = _nearest(x * float(factor))
        return int(rounded) if -(2.0**63) <= rounded < 2.0**63 else None

    return call


def _list_extreme(sign: int) -> Any:
    return lambda items: _extreme(sign)(items, [])


_STRICT: dict[str, Any] = {
    "not": lambda x: not x,
    "divide": _divide,
    "div": _div,
    "sqrt": lambda x: _total(math.sqrt)(x) if x == x else x,
    "exp": _total(math.exp),
    "ln": _total(math.log),
    "log10": _total(math.log10),
    "power": _total(math.pow),
    "sin": _total(math.sin),
    "cos": _total(math.cos),
    "tan": _total(math.tan),
    "atan2": _total(math.atan2),
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "trunc": _whole(math.trunc),
    "is_nan": lambda x: x != x,
    "is_finite": math.isfinite,
    "upper": str.upper,
    "lower": str.lower,
    "trim": str.strip,
    "ltrim": str.lstrip,
    "rtrim": str.rstrip,
    "reverse": lambda s: s[::-1],
    "length": len,
    "substring": texts.substring,
    "concat": lambda *parts: "".join(parts),
    "replace": lambda s, old, new: s.replace(old, new),
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": lambda s, part: part in s,
    "position": lambda s, part: s.find(part) + 1,
    "repeat": lambda s, times: s * times,
    "lpad": lambda s, width, fill=" ": s.rjust(width, fill)[:width],
    "rpad": lambda s, width, fill=" ": s.ljust(width, fill)[:width],
    "like": texts.like,
    "split": lambda s, separator: s.split(separator),
    "regex_match": texts.regex_match,
    "regex_contains": lambda s, pattern: re.search(pattern, s) is not None,
    "regex_replace": texts.regex_replace,
    "regex_extract": texts.regex_extract,
    "year": lambda t: times.date_of(t).year,
    "month": lambda t: times.date_of(t).month,
    "day": lambda t: times.date_of(t).day,
    "hour": lambda t: times.date_of(t).hour,
    "minute": lambda t: times.date_of(t).minute,
    "second": lambda t: times.date_of(t).second,
    "day_of_week": lambda t: times.date_of(t).isoweekday(),
    "date_trunc": times.date_trunc,
    "to_timestamp": times.to_timestamp,
    "format_timestamp": times.format_moment,
    "days": _duration(86_400_000_000),
    "hours": _duration(3_600_000_000),
    "minutes": _duration(60_000_000),
    "seconds": _duration(1_000_000),
    "milliseconds": _duration(1000),
    "microseconds": _duration(1),
    "timestamp_to_microseconds": times.spade_moment,
    "list_length": len,
    "element": texts.element,
    "list_contains": lambda items, value: any(item == value for item in items if item is not None),
    "list_sum": texts.list_sum,
    "list_min": _list_extreme(-1),
    "list_max": _list_extreme(1),
}
