"""Operators of the expression language: how their arguments must fit together, and what type they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from penstock.block.schema import TIMESTAMP, type_of
from penstock.errors import ExpressionError
from penstock.expressions.functions.function import Types
from penstock.expressions.kinds import Kind, article_and_word, common_type, computed, is_number, kind_of
from penstock.expressions.tree import Expression, Literal

OperatorRule = Callable[[tuple[Expression, ...], Types], pa.DataType]

# What each kind can be cast to, besides itself and string.
_CASTS: Mapping[Kind, tuple[Kind, ...]] = {
    "boolean": ("integer", "float"),
    "integer": ("boolean", "float", "timestamp"),
    "float": ("integer",),
    "text": ("boolean", "integer", "float", "timestamp"),
    "timestamp": ("integer",),
    "list": (),
}


def _add(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
    kinds = {kind_of(t) for t in types}
    if kinds <= {"text", "unknown"}:
        return pa.string() if "text" in kinds else pa.null()
    if kinds == {"timestamp", "integer"} or kinds == {"timestamp", "unknown"}:
        return TIMESTAMP
    return _numbers("adds {0} and {1}", types)


def _subtract(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
    kinds = tuple(kind_of(t) for t in types)
    if kinds == ("timestamp", "timestamp"):
        return pa.int64()
    if kinds == ("timestamp", "integer"):
        return TIMESTAMP
    if "timestamp" in kinds and "unknown" in kinds:
        return pa.null()
    return _numbers("subtracts {1} from {0}", types)


def _multiply(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
    return _numbers("multiplies {0} by {1}", types)


def _divide(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
    _numbers("divides {0} by {1}", types)
    return pa.float64()


def _div(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
    if any(kind_of(t) not in ("integer", "unknown") for t in types):
        sentence = _sentence("divides {0} by {1} as whole numbers", types)
        raise ExpressionError(sentence, hint="use trunc(a / b)")
    return pa.int64()


def _modulo(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
    return _numbers("takes {0} modulo {1}", types)


def _negate(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
    return _numbers("negates {0}", types)


def _compare(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
    common = common_type(types)
    if common is None or kind_of(common) == "list":
        first, other = _mismatch(types)
        hint = (
            "write timestamp '...' for a moment" if {kind_of(first), kind_of(other)} == {"timestamp", "text"} else None
        )
        raise ExpressionError(f"compares {article_and_word(first)} with {article_and_word(other)}", hint=hint)
    return pa.bool_()


def _is_null(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
    return pa.bool_()


def _condition(word: str) -> OperatorRule:
    def rule(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
        for type_ in types:
            if kind_of(type_) not in ("boolean", "unknown"):
                raise ExpressionError(f"uses {article_and_word(type_)} as a condition of '{word}'")
        return pa.bool_()

    return rule


def _case(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
    _condition("case")(arguments[0:-1:2], types[0:-1:2])
    return meeting_type("case", (*types[1:-1:2], types[-1]))


def _cast(arguments: tuple[Expression, ...], types: Types) -> pa.DataType:
    word = arguments[1]
    if not isinstance(word, Literal) or not isinstance(word.value, str):
        raise ExpressionError("casts to a type that is no literal")
    return cast_type(types[0], type_of(word.value))


def cast_type(given: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """The wanted type, if a cast can give it."""
    kind, target = kind_of(given), kind_of(wanted)
    if kind in ("unknown", target) and (kind != "list" or given == wanted):
        return wanted
    if kind == "list" or (target != "text" and target not in _CASTS[kind]):
        raise ExpressionError(f"casts {article_and_word(given)} to {article_and_word(wanted)}")
    return wanted


def meeting_type(function: str, types: Types) -> pa.DataType:
    """The common type of a function's alternatives."""
    common = common_type(types)
    if common is None:
        first, other = _mismatch(types)
        raise ExpressionError(f"mixes {article_and_word(first)} and {article_and_word(other)} in {function}")
    return common


def _numbers(sentence: str, types: Types) -> pa.DataType:
    if not all(is_number(t) or kind_of(t) == "unknown" for t in types):
        raise ExpressionError(_sentence(sentence, types))
    common = common_type(types)
    return pa.null() if common is None else computed(common)


def _sentence(form: str, types: Types) -> str:
    return form.format(*(article_and_word(t) for t in types))


def _mismatch(types: Types) -> tuple[pa.DataType, pa.DataType]:
    """Two of the types that do not meet, or the first and the last where all do."""
    known = [t for t in types if kind_of(t) != "unknown"]
    for other in known[1:]:
        if common_type((known[0], other)) is None:
            return known[0], other
    return known[0], known[-1]


# name -> (least and most arguments, rule)
OPERATORS: Mapping[str, tuple[int, int, OperatorRule]] = {
    "add": (2, 2, _add),
    "subtract": (2, 2, _subtract),
    "multiply": (2, 2, _multiply),
    "divide": (2, 2, _divide),
    "div": (2, 2, _div),
    "modulo": (2, 2, _modulo),
    "negate": (1, 1, _negate),
    "equal": (2, 2, _compare),
    "not_equal": (2, 2, _compare),
    "less": (2, 2, _compare),
    "less_equal": (2, 2, _compare),
    "greater": (2, 2, _compare),
    "greater_equal": (2, 2, _compare),
    "between": (3, 3, _compare),
    "in": (2, 10_000, _compare),
    "is_null": (1, 1, _is_null),
    "and": (2, 2, _condition("and")),
    "or": (2, 2, _condition("or")),
    "not": (1, 1, _condition("not")),
    "case": (3, 10_001, _case),
    "cast": (2, 2, _cast),
}
