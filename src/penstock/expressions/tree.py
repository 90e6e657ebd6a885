"""The tree of an expression: three kinds of nodes, each a frozen value that knows its place in the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `value` None is SQL's null (type pa.null())."""

    value: bool | int | float | str | None
    type: pa.DataType
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a tuple; `port` is the qualifier ('left', 'right', ...) or None."""

    name: str
    port: str | None = None
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator applied to arguments; `function` is its canonical name ('add', 'regex_match')."""

    function: str
    arguments: tuple[Expression, ...]
    column: int = field(default=0, compare=False)


Expression = Literal | Attribute | Call


def walk(expression: Expression) -> Iterator[Expression]:
    """Every node, parents before children."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from walk(argument)


def depth(expression: Expression) -> int:
    """How many calls stand in each other, found without recursion since a text can nest without end."""
    deepest, waiting = 0, [(expression, 0)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        if isinstance(node, Call):
            waiting += [(argument, level + 1) for argument in node.arguments]
    return deepest


def attributes(expression: Expression) -> set[tuple[str | None, str]]:
    """The (port, name) pairs an expression reads."""
    return {(node.port, node.name) for node in walk(expression) if isinstance(node, Attribute)}


def uses_sequence(expression: Expression) -> bool:
    """Whether an expression reads the tuple's number at its operator, which makes the operator stateful."""
    return any(isinstance(node, Call) and node.function == "seq_num" for node in walk(expression))


def replace_calls(expression: Expression, mapping: Mapping[Call, Expression]) -> Expression:
    """The tree with every call found in `mapping` (places in the text do not count) replaced, outermost first."""
    if not isinstance(expression, Call):
        return expression
    if expression in mapping:
        return mapping[expression]
    arguments = tuple(replace_calls(argument, mapping) for argument in expression.arguments)
    return Call(expression.function, arguments, expression.column)
