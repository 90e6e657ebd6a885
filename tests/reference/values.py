"""Expressions over one tuple: the few functions that the engine's tests use, as plainly as they can be said."""

from __future__ import annotations

import math
import operator as py
from collections.abc import Callable
from typing import Any

from penstock.app.expressions.tree import Attribute, Call, Expression, Literal
from tests.reference.events import Row


def holds(condition: Expression, row: Row, sequence: int = 0) -> bool:
    """Whether a condition is true: not false, not null."""
    return value(condition, row, sequence) is True


def value(expression: Expression, row: Row, sequence: int = 0) -> Any:
    """What an expression gives for a tuple; several inputs' attributes are in the row as 'port.name'."""
    if isinstance(expression, Literal):
        return expression.value
    if isinstance(expression, Attribute):
        return row[_name(expression, row)]
    if expression.function == "seq_num":
        return sequence
    arguments = [value(argument, row, sequence) for argument in expression.arguments]
    if expression.function in _WITH_NULLS:
        return _WITH_NULLS[expression.function](*arguments)
    if any(argument is None for argument in arguments):
        return None
    return _call(expression, arguments)


def _name(attribute: Attribute, row: Row) -> str:
    if attribute.port is not None:
        return f"{attribute.port}.{attribute.name}"
    if attribute.name in row:
        return attribute.name
    return next(name for name in row if name.endswith(f".{attribute.name}"))


def _call(call: Call, arguments: list[Any]) -> Any:
    result = _STRICT[call.function](*arguments)
    if isinstance(result, int) and not isinstance(result, bool):
        return (result + 2**63) % 2**64 - 2**63
    return result


def _divide(dividend: float, divisor: float) -> float:
    if divisor == 0:
        return (
            math.nan
            if dividend == 0 or dividend != dividend
            else math.copysign(math.inf, dividend) * math.copysign(1, divisor)
        )
    return dividend / divisor


def _modulo(dividend: int, divisor: int) -> int | None:
    return None if divisor == 0 else int(math.fmod(dividend, divisor))


def _and(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _or(one: bool | None, other: bool | None) -> bool | None:
    if one is True or other is True:
        return True
    return None if one is None or other is None else False


_WITH_NULLS: dict[str, Callable[..., Any]] = {
    "and": _and,
    "or": _or,
    "is_null": lambda x: x is None,
    "coalesce": lambda *x: next((v for v in x if v is not None), None),
}
_STRICT: dict[str, Callable[..., Any]] = {
    "add": py.add,
    "subtract": py.sub,
    "multiply": py.mul,
    "divide": _divide,
    "modulo": _modulo,
    "negate": py.neg,
    "not": py.not_,
    "equal": py.eq,
    "not_equal": py.ne,
    "less": py.lt,
    "less_equal": py.le,
    "greater": py.gt,
    "greater_equal": py.ge,
    "abs": abs,
}
