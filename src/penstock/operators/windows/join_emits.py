"""A join's predicate and emits over pairs of stored rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.block.column import Column
from penstock.block.position import Integers
from penstock.expressions.evaluation.compiled_functor import FunctorKernel
from penstock.expressions.tree import Attribute, Call, Expression, attributes
from penstock.operators.windows.join_store import JoinStore

_PORTS = ("left", "right")
_Read = tuple[int, int]  # side, column of its schema


class JoinEmits:
    """Gathers what the predicate reads for all pairs, and what the emits read for those that pass."""

    def __init__(
        self, where: Expression | None, emits: Sequence[Expression], schemas: tuple[pa.Schema, pa.Schema]
    ) -> None:
        sides = {
            (port, name): _side(port, name, schemas)
            for expression in (*emits, *(() if where is None else (where,)))
            for port, name in attributes(expression)
        }
        self._asked = _reads([where] if where is not None else [], sides, schemas)
        self._read = _reads(emits, sides, schemas)
        self._where = None
        if where is not None:
            self._where = FunctorKernel(_renamed(where, sides), (), _pair_schema(self._asked, schemas))
        renamed, schema = tuple(_renamed(emit, sides) for emit in emits), _pair_schema(self._read, schemas)
        bare = [schema.get_field_index(emit.name) for emit in renamed if isinstance(emit, Attribute)]
        self._bare = bare if len(bare) == len(renamed) else None
        self._outputs = FunctorKernel(None, renamed, schema)

    def columns_of(self, side: int) -> list[int]:
        """The columns of a side that must be stored."""
        return sorted({column for of, column in (*self._asked, *self._read) if of == side})

    def process(
        self, stores: Sequence[JoinStore], trigger: Integers, left: Integers, right: Integers
    ) -> tuple[Integers, tuple[Column, ...]]:
        """The triggers of the pairs that pass, and the emits for them."""
        if self._where is not None:
            asked = _taken(stores, self._asked, (left, right))
            kept, _ = self._where.process(asked, len(trigger), 0)
            if kept is not None:
                trigger, left, right = trigger[kept], left[kept], right[kept]
        columns = _taken(stores, self._read, (left, right))
        if self._bare is not None:
            return trigger, tuple([columns[i] for i in self._bare])
        return trigger, self._outputs.process(columns, len(trigger), 0)[1]


def _taken(stores: Sequence[JoinStore], reads: list[_Read], rows: tuple[Integers, Integers]) -> list[Column]:
    return [stores[side].column(place).take(rows[side]) for side, place in reads]


def _reads(
    expressions: Sequence[Expression], sides: dict[tuple[str | None, str], int], schemas: tuple[pa.Schema, pa.Schema]
) -> list[_Read]:
    named = {(sides[port, name], name) for expression in expressions for port, name in attributes(expression)}
    return sorted((side, schemas[side].get_field_index(name)) for side, name in named)


def _pair_schema(reads: list[_Read], schemas: tuple[pa.Schema, pa.Schema]) -> pa.Schema:
    """One tuple that has both sides' attributes, named `left.x` and `right.x`."""
    fields = [(side, schemas[side].field(column)) for side, column in reads]
    return pa.schema([field.with_name(f"{_PORTS[side]}.{field.name}") for side, field in fields])


def _side(port: str | None, name: str, schemas: tuple[pa.Schema, pa.Schema]) -> int:
    if port is not None:
        return _PORTS.index(port)
    return 0 if name in schemas[0].names else 1


def _renamed(expression: Expression, sides: dict[tuple[str | None, str], int]) -> Expression:
    """The expression over a tuple of a pair's attributes."""
    if isinstance(expression, Attribute):
        return Attribute(f"{_PORTS[sides[expression.port, expression.name]]}.{expression.name}")
    if isinstance(expression, Call):
        return Call(expression.function, tuple(_renamed(a, sides) for a in expression.arguments))
    return expression
