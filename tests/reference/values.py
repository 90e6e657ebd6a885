"""Expressions of an operator over its tuples, by the slow evaluator of expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.expressions.tree import Attribute, Call, Expression
from tests.reference.events import Row
from tests.reference.expressions import reference


class Values:
    """What expressions give for tuples; attributes of a named input are in the row as 'port.name'."""

    def __init__(self, ports: Sequence[tuple[str | None, pa.Schema]]) -> None:
        named = [
            (f"{port}.{field.name}" if port else field.name, field.type) for port, schema in ports for field in schema
        ]
        self.schema = pa.schema(named)

    def value(self, expression: Expression, row: Row, sequence: int = 0) -> Any:
        return reference(self._plain(expression), row, self.schema, sequence)

    def holds(self, condition: Expression, row: Row, sequence: int = 0) -> bool:
        """Whether a condition is true: not false, not null."""
        return self.value(condition, row, sequence) is True

    def _plain(self, expression: Expression) -> Expression:
        """The tree with every attribute under the name it has in rows."""
        if isinstance(expression, Attribute):
            return Attribute(self._name(expression))
        if isinstance(expression, Call):
            return Call(expression.function, tuple(map(self._plain, expression.arguments)))
        return expression

    def _name(self, attribute: Attribute) -> str:
        if attribute.port is not None:
            return f"{attribute.port}.{attribute.name}"
        if attribute.name in self.schema.names:
            return attribute.name
        found: str = next(name for name in self.schema.names if name.endswith(f".{attribute.name}"))
        return found


def values_of(schema: pa.Schema) -> Values:
    """Expressions over one input."""
    return Values(((None, schema),))
