"""The tree of an expression: three kinds of nodes, each a frozen value that knows its place in the text."""

from __future__ import annotations

from collections.abc import Iterator
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
    """A function or operator applied to arguments; `function` is its canonical lower-case name ('add', 'regex_match')."""

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


def attributes(expression: Expression) -> set[tuple[str | None, str]]:
    """The (port, name) pairs an expression reads."""
    return {(node.port, node.name) for node in walk(expression) if isinstance(node, Attribute)}
