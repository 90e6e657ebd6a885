"""The printer: a tree becomes SQL text that parses to the same tree."""

from __future__ import annotations

import re

import pyarrow as pa

from penstock.expressions.lexer import KEYWORDS
from penstock.expressions.tree import Attribute, Call, Expression, Literal
from penstock.kernels.text.calendar import text_of_microseconds

_INFIX = {
    "or": "or",
    "and": "and",
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "modulo": "%",
    "like": "like",
}
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


def to_text(expression: Expression) -> str:
    """An expression as SQL text; parsing that text gives an equal tree.

    >>> from penstock.expressions.parser import parse
    >>> to_text(parse("a+b*2 > c and not d is null"))
    '((a + (b * 2)) > c) and (not (d is null))'
    """
    if isinstance(expression, Literal):
        return _literal(expression)
    if isinstance(expression, Attribute):
        name = _name(expression.name)
        return name if expression.port is None else f"{_name(expression.port)}.{name}"
    return _call(expression)


def _operand(expression: Expression) -> str:
    """Text that can stand next to any operator: operators within parentheses, everything else as it is."""
    text = to_text(expression)
    bare = isinstance(expression, Attribute) or (
        isinstance(expression, Call) and text.endswith(")") and _is_function(expression)
    )
    return text if bare or isinstance(expression, Literal) else f"({text})"


def _is_function(call: Call) -> bool:
    return call.function not in _INFIX and call.function not in ("not", "negate", "in", "between", "is_null", "case")


def _call(call: Call) -> str:
    function, arguments = call.function, call.arguments
    if function in _INFIX and len(arguments) == 2:
        return f"{_operand(arguments[0])} {_INFIX[function]} {_operand(arguments[1])}"
    if function == "not" and len(arguments) == 1:
        return f"not {_operand(arguments[0])}"
    if function == "negate" and len(arguments) == 1:
        return f"-({to_text(arguments[0])})"
    if function == "is_null" and len(arguments) == 1:
        return f"{_operand(arguments[0])} is null"
    if function == "between" and len(arguments) == 3:
        return f"{_operand(arguments[0])} between {_operand(arguments[1])} and {_operand(arguments[2])}"
    if function == "in" and arguments:
        return f"{_operand(arguments[0])} in ({', '.join(to_text(a) for a in arguments[1:])})"
    if function == "case" and len(arguments) >= 3 and len(arguments) % 2:
        return _case(arguments)
    if function == "cast" and len(arguments) == 2 and isinstance(arguments[1], Literal):
        return f"cast({to_text(arguments[0])} as {arguments[1].value})"
    return f"{function}({', '.join(to_text(a) for a in arguments)})"


def _case(arguments: tuple[Expression, ...]) -> str:
    branches = " ".join(
        f"when {to_text(condition)} then {to_text(value)}"
        for condition, value in zip(arguments[0:-1:2], arguments[1:-1:2], strict=True)
    )
    return f"case {branches} else {to_text(arguments[-1])} end"


def _name(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def _literal(literal: Literal) -> str:
    value = literal.value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, int) and pa.types.is_timestamp(literal.type):
        return f"timestamp '{text_of_microseconds(value)}'"
    if isinstance(value, float):
        return repr(value).replace("inf", "1e999")
    return repr(value)
