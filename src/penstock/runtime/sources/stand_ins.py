"""What stands for the user's code in a warm-up: operators behind it get made-up results, and it sees no made-up tuple.

A function or an operator of the user's may have a method `warm_up`, for what takes long the first time in a process:
compiling, reading a model.  It is called once in every worker, in place of the code itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.runtime.sources.synthetic import synthetic_batch


def with_stand_ins(graph: Graph) -> Graph:
    """The graph with nothing of the user's in its operators, and no operator that waits; its layout is the same."""
    return replace(graph, operators=tuple(_replaced(operator) for operator in graph.operators))


def _replaced(operator: ops.Operator) -> ops.Operator:
    if isinstance(operator, ops.Map):
        own, schema = operator.function, operator.schema
        function: Callable[..., Any] = TupleFunction(own, schema) if operator.per_tuple else BlockFunction(own, schema)
        return replace(operator, function=function)
    if isinstance(operator, ops.Custom):
        return replace(operator, instance=UserOperator(operator.instance, operator.schema))
    if isinstance(operator, ops.Load):
        return replace(operator, flop_per_tuple=0, wait_ms_per_tuple=0.0, wait_ms_per_block=0.0)
    if isinstance(operator, ops.Aggregate) and operator.functions:
        functions = ((name, replace(own, function=WindowFunction(own))) for name, own in operator.functions)
        return replace(operator, functions=tuple(functions))
    return operator


class _StandIn:
    """Has the user's code get ready the first time that it would be called."""

    def __init__(self, own: Any, schema: pa.Schema) -> None:
        self._own, self._schema, self._is_ready = own, schema, False
        self._row: dict[str, Any] | None = None

    def _get_ready(self) -> None:
        if not self._is_ready:
            self._is_ready = True
            warm_up = getattr(self._own, "warm_up", None)
            if callable(warm_up):
                warm_up()

    def _one_row(self) -> dict[str, Any]:
        """A row of the schema, always the same."""
        if self._row is None:
            rows: list[dict[str, Any]] = synthetic_batch(self._schema, 1).to_pylist()
            self._row = rows[0]
        return self._row


class BlockFunction(_StandIn):
    """For a `map` on blocks: as many rows as it got."""

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._get_ready()
        return synthetic_batch(self._schema, batch.num_rows)


class TupleFunction(_StandIn):
    """For a `map` per tuple: a dict for each."""

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        self._get_ready()
        return self._one_row()


class UserOperator(TupleFunction):
    """For an operator of the user's, whose state is empty."""

    def state(self) -> None:
        return None

    def process(self, row: dict[str, Any], state: None) -> dict[str, Any]:
        return self(row)


class WindowFunction(_StandIn):
    """For an aggregate function of the user's."""

    def __init__(self, own: ops.AggregateFunction) -> None:
        super().__init__(own.function, pa.schema([("value", own.returns)]))

    def __call__(self, values: pa.Array) -> Any:
        self._get_ready()
        return self._one_row()["value"]
