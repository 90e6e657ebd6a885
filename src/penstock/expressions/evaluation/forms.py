"""Forms: each function of numbers, booleans and timestamps, as a numpy function and as a kernel's source text.

Both compute in int64, float64 or bool; a form's value is null where an operand is (logic, choices and `is null` are not
forms), and besides where `valid` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.block.column import Array
from penstock.expressions.check import Typed
from penstock.expressions.kinds import common_type, kind_of
from penstock.expressions.tree import Call, Literal
from penstock.kernels.codegen import elementwise
from penstock.kernels.text.calendar import DAY, HOUR, MINUTE, SECOND

Apply = Callable[..., Array]
INT, FLOAT, BOOL = "int64", "float64", "bool"


@dataclass(frozen=True, slots=True)
class Form:
    """`operands` are the words of the types that arguments are brought to; sources name them {0}, {1}, ..."""

    operands: tuple[str, ...]
    apply: Apply
    source: str
    valid: Apply | None = None
    valid_source: str | None = None


def word_of_computation(type_: pa.DataType) -> str:
    """In which of int64, float64, bool a fixed-width type is computed."""
    kind = kind_of(type_)
    return FLOAT if kind == "float" else BOOL if kind in ("boolean", "unknown") else INT


def form_of(node: Typed) -> Form | None:
    """The form of a call whose arguments all have fixed width, or None where it has none."""
    assert isinstance(node.node, Call)
    function, types = node.node.function, tuple(a.type for a in node.arguments)
    if function in _ARITHMETIC:
        word = word_of_computation(node.type)
        return Form((word,) * len(types), *_ARITHMETIC[function])
    if function in _COMPARISONS:
        word = word_of_computation(common_type(types) or pa.bool_())
        return Form((word, word), *_COMPARISONS[function])
    if function in _FLOAT_FUNCTIONS:
        return Form((FLOAT,) * len(types), *_FLOAT_FUNCTIONS[function])
    if function in _TIME_FUNCTIONS:
        return Form((INT,), *_TIME_FUNCTIONS[function])
    builder = _BUILDERS.get(function)
    return None if builder is None else builder(node)


def has_form(function: str) -> bool:
    """Whether a function has forms, for arguments of fixed width."""
    return any(function in table for table in (_ARITHMETIC, _COMPARISONS, _FLOAT_FUNCTIONS, _TIME_FUNCTIONS, _BUILDERS))


def _scalar(name: str, result: str, *operands: str) -> tuple[Apply, str]:
    """A function of `penstock.kernels.text.scalars` in both shapes; the ufunc is compiled when first called."""
    signature = f"{result}({', '.join(operands)})"

    def apply(*arguments: Any) -> Array:
        return np.asarray(elementwise.ufunc(name, signature)(*arguments))

    return apply, f"scalars.{name}({', '.join(f'{{{i}}}' for i in range(len(operands)))})"


def _identity(values: Array) -> Array:
    return values


def _unary_by_kind(integer: tuple[Apply, str], floating: tuple[Apply, str]) -> Callable[[Typed], Form]:
    def builder(node: Typed) -> Form:
        return Form((FLOAT,), *floating) if word_of_computation(node.type) == FLOAT else Form((INT,), *integer)

    return builder


def _modulo(node: Typed) -> Form:
    if word_of_computation(node.type) == FLOAT:
        return Form((FLOAT, FLOAT), *_scalar("fmod", FLOAT, FLOAT, FLOAT))
    return Form((INT, INT), *_scalar("mod", INT, INT, INT), _is_second_nonzero, "({1} != 0)")


def _div(node: Typed) -> Form:
    return Form((INT, INT), *_scalar("div", INT, INT, INT), _is_second_nonzero, "({1} != 0)")


def _is_second_nonzero(first: Array, second: Array) -> Array:
    return np.not_equal(second, 0)


def _round(node: Typed) -> Form:
    is_float = word_of_computation(node.type) == FLOAT
    if len(node.arguments) == 1:
        return Form((FLOAT,), *_scalar("round_half_away", FLOAT, FLOAT)) if is_float else Form((INT,), _identity, "{0}")
    name, word = ("round_digits", FLOAT) if is_float else ("round_whole_digits", INT)
    return Form((word, INT), *_scalar(name, word, word, INT))


def _duration(factor: int) -> Callable[[Typed], Form]:
    """Microseconds of a number of units; fractions of a microsecond are rounded."""

    def builder(node: Typed) -> Form:
        if word_of_computation(node.arguments[0].type) == INT:
            return Form((INT,), partial(np.multiply, factor), f"({{0}} * {factor})")
        rounded, source = _scalar("round_half_away", FLOAT, FLOAT)
        cut, cut_source = _scalar("integer", INT, FLOAT)
        inside, inside_source = _scalar("fits_integer", BOOL, FLOAT, INT, INT)
        source = source.replace("{0}", f"{{0}} * {float(factor)}")
        low, high = -(2**63), 2**63 - 1
        return Form(
            (FLOAT,),
            lambda x: cut(rounded(x * float(factor))),
            cut_source.replace("{0}", source),
            lambda x: inside(rounded(x * float(factor)), low, high),
            inside_source.format(source, low, high),
        )

    return builder


def _date_trunc(node: Typed) -> Form:
    """The unit is the first argument, a literal that no value is computed for."""
    unit = node.arguments[0].node
    assert isinstance(unit, Literal)
    word = str(unit.value).lower()
    if word in _TRUNCATED_MONTHS:
        months = _TRUNCATED_MONTHS[word]
        start, source = _scalar("start_of_months", INT, INT, INT)
        return Form(("", INT), lambda _, t: start(t, months), source.format("{1}", months))
    if word == "week":
        start, source = _scalar("start_of_week", INT, INT)
        return Form(("", INT), lambda _, t: start(t), source.format("{1}"))
    size = _TRUNCATED[word]
    return Form(("", INT), lambda _, t: t - t % size, f"({{1}} - {{1}} % {size})")


def _cast(node: Typed) -> Form:
    source, target = node.arguments[0].type, node.type
    kind, wanted = kind_of(source), kind_of(target)
    pad = ("",) * (len(node.arguments) - 1)  # cast's second argument is the type's name
    if wanted == "boolean":
        return Form((INT, *pad), lambda x, *_: x != 0, "({0} != 0)")
    if wanted == "float":
        return _cast_to_float(target, pad)
    if wanted == "timestamp" or (wanted == "integer" and target in (pa.int64(), pa.uint64()) and kind != "float"):
        if target == pa.uint64() and source != pa.uint64():
            return Form((INT, *pad), lambda x, *_: x, "{0}", lambda x, *_: x >= 0, "({0} >= 0)")
        return Form((INT, *pad), lambda x, *_: x, "{0}")
    return _cast_to_integer(kind == "float", target, pad)


def _cast_to_float(target: pa.DataType, pad: tuple[str, ...]) -> Form:
    if target == pa.float64():
        return Form((FLOAT, *pad), lambda x, *_: x, "{0}")
    return Form((FLOAT, *pad), lambda x, *_: x.astype(np.float32), "np.float64(np.float32({0}))")


def _cast_to_integer(from_float: bool, target: pa.DataType, pad: tuple[str, ...]) -> Form:
    """Numbers outside of the target's range are null."""
    low, high = _range_of(target)
    if not from_float:
        return Form(
            (INT, *pad),
            lambda x, *_: x,
            "{0}",
            lambda x, *_: (x >= low) & (x <= high),
            f"(({{0}} >= {low}) and ({{0}} <= {high}))",
        )
    cut, cut_source = _scalar("integer", INT, FLOAT)
    inside, inside_source = _scalar("fits_integer", BOOL, FLOAT, INT, INT)
    return Form(
        (FLOAT, *pad),
        lambda x, *_: cut(x),
        cut_source,
        lambda x, *_: inside(x, low, high),
        inside_source.format("{0}", low, high),
    )


def _range_of(target: pa.DataType) -> tuple[int, int]:
    limits = np.iinfo(target.to_pandas_dtype())
    return int(limits.min), min(int(limits.max), 2**63 - 1)


_ARITHMETIC: Mapping[str, tuple[Apply, str]] = {
    "add": (np.add, "({0} + {1})"),
    "subtract": (np.subtract, "({0} - {1})"),
    "multiply": (np.multiply, "({0} * {1})"),
    "negate": (np.negative, "(-{0})"),
}
_COMPARISONS: Mapping[str, tuple[Apply, str]] = {
    "equal": (np.equal, "({0} == {1})"),
    "not_equal": (np.not_equal, "({0} != {1})"),
    "less": (np.less, "({0} < {1})"),
    "less_equal": (np.less_equal, "({0} <= {1})"),
    "greater": (np.greater, "({0} > {1})"),
    "greater_equal": (np.greater_equal, "({0} >= {1})"),
}
_FLOAT_FUNCTIONS: Mapping[str, tuple[Apply, str]] = {
    "divide": (np.divide, "({0} / {1})"),
    "sqrt": (np.sqrt, "np.sqrt({0})"),
    "is_nan": (np.isnan, "({0} != {0})"),
    "is_finite": (np.isfinite, "np.isfinite({0})"),
    **{name: _scalar(name, FLOAT, FLOAT) for name in ("exp", "ln", "log10", "sin", "cos", "tan")},
    **{name: _scalar(name, FLOAT, FLOAT, FLOAT) for name in ("power", "atan2")},
}
_TIME_FUNCTIONS: Mapping[str, tuple[Apply, str]] = {
    **{name: _scalar(name, INT, INT) for name in ("year", "month", "day")},
    "hour": (lambda t: t // HOUR % 24, f"({{0}} // {HOUR} % 24)"),
    "minute": (lambda t: t // MINUTE % 60, f"({{0}} // {MINUTE} % 60)"),
    "second": (lambda t: t // SECOND % 60, f"({{0}} // {SECOND} % 60)"),
    "day_of_week": (lambda t: (t // DAY + 3) % 7 + 1, f"(({{0}} // {DAY} + 3) % 7 + 1)"),
}
_TRUNCATED_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_TRUNCATED = {"day": DAY, "hour": HOUR, "minute": MINUTE, "second": SECOND, "millisecond": 1000}
_BUILDERS: Mapping[str, Callable[[Typed], Form]] = {
    "modulo": _modulo,
    "div": _div,
    "not": lambda node: Form((BOOL,), np.logical_not, "(not {0})"),
    "abs": _unary_by_kind((np.abs, "abs({0})"), (np.abs, "abs({0})")),
    "sign": _unary_by_kind((np.sign, "(np.int64({0} > 0) - np.int64({0} < 0))"), _scalar("sign", FLOAT, FLOAT)),
    "floor": _unary_by_kind((_identity, "{0}"), (np.floor, "np.floor({0})")),
    "ceil": _unary_by_kind((_identity, "{0}"), (np.ceil, "np.ceil({0})")),
    "trunc": _unary_by_kind((_identity, "{0}"), (np.trunc, "np.trunc({0})")),
    "round": _round,
    "days": _duration(DAY),
    "hours": _duration(HOUR),
    "minutes": _duration(MINUTE),
    "seconds": _duration(SECOND),
    "milliseconds": _duration(1000),
    "microseconds": _duration(1),
    "date_trunc": _date_trunc,
    "cast": _cast,
    "to_integer": _cast,
    "to_float": _cast,
}
