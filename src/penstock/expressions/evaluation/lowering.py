"""Lowering: a typed tree with the convenient functions expressed by a few, so that each is defined once."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa

from penstock.expressions.check import Typed
from penstock.expressions.evaluation.forms import has_form
from penstock.expressions.kinds import kind_of
from penstock.expressions.tree import Call, Literal

# Functions that have no form because they decide about nulls themselves, or read no argument.
LOGIC = frozenset({"and", "or", "is_null", "case", "coalesce", "least", "greatest", "seq_num"})
_NULL = Typed(Literal(None, pa.null()), pa.null())


def lower(node: Typed) -> Typed:
    """The same tree without if, select, nullif, between, in; least and greatest take two arguments each.

    Arguments that come to stand in two places are one object there, so that they are computed once.
    """
    if not isinstance(node.node, Call):
        return node
    if kind_of(node.type) == "unknown":  # only nulls without a type lead to a call without one
        return _NULL
    arguments = tuple(lower(argument) for argument in node.arguments)
    function, type_ = node.node.function, node.type
    if function == "between":
        value, low, high = arguments
        return _condition("and", _condition("greater_equal", value, low), _condition("less_equal", value, high))
    if function == "in":
        return _any(tuple(_condition("equal", arguments[0], other) for other in arguments[1:]))
    if function == "if":
        return _call("case", type_, *arguments)
    if function == "nullif":
        return _call("case", type_, _condition("equal", *arguments), _NULL, arguments[0])
    if function == "select":
        return _call("case", type_, *_branches(arguments), _NULL)
    if function in ("least", "greatest"):
        return reduce(lambda left, right: _call(function, type_, left, right), arguments[1:], arguments[0])
    return Typed(node.node, type_, arguments)


def is_fixed_width(type_: pa.DataType) -> bool:
    """Whether values of a type are kept as numpy values (an untyped null counts as one)."""
    return kind_of(type_) not in ("text", "list")


def value_arguments(node: Typed) -> tuple[Typed, ...]:
    """The arguments of a call that stand for values; a type's name and a unit of time do not."""
    assert isinstance(node.node, Call)
    if node.node.function == "date_trunc":
        return node.arguments[1:]
    return node.arguments[:1] if node.node.function == "cast" else node.arguments


def has_numbers_only(node: Typed) -> bool:
    """Whether a call is of a numeric function and its arguments have fixed width, whatever those are computed from."""
    assert isinstance(node.node, Call)
    if not is_fixed_width(node.type) or not (node.node.function in LOGIC or has_form(node.node.function)):
        return False
    return all(is_fixed_width(argument.type) for argument in value_arguments(node))


def _branches(arguments: tuple[Typed, ...]) -> tuple[Typed, ...]:
    found: list[Typed] = []
    for place, value in enumerate(arguments[1:]):
        here = Typed(Literal(place, pa.int64()), pa.int64())
        found += (_condition("equal", arguments[0], here), value)
    return tuple(found)


def _any(conditions: tuple[Typed, ...]) -> Typed:
    """Joined pairwise, so that a long list nests no deeper than its logarithm."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return _condition("or", _any(conditions[:middle]), _any(conditions[middle:]))


def _condition(function: str, *arguments: Typed) -> Typed:
    return _call(function, pa.bool_(), *arguments)


def _call(function: str, type_: pa.DataType, *arguments: Typed) -> Typed:
    return Typed(Call(function, tuple(argument.node for argument in arguments)), type_, arguments)
