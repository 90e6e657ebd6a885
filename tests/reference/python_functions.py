"""Operators that call the user's Python, one tuple at a time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pyarrow as pa

from penstock.app import operators as ops
from tests.reference.aggregates import key_of
from tests.reference.events import Item, Row
from tests.reference.letters import Letters, failure
from tests.reference.operators import PassesMarks


class Function(PassesMarks):
    """Calls the user's function with a tuple; a tuple on which it fails is a dead letter."""

    def __init__(self, operator: ops.Map | ops.Custom, schema: pa.Schema, letters: Letters) -> None:
        self.operator, self.schema, self.letters = operator, schema, letters
        self.states: dict[Hashable, Any] = {}

    def on_tuple(self, port: int, item: Item) -> list[tuple[int, Row]]:
        try:
            results = self._call(batch_of([item.row], self.schema))
            return [(0, row) for row in plain_rows(results)]
        except Exception as error:
            self.letters.add(self.operator.name, failure(error), item.row, self.schema)
            return []

    def _call(self, batch: pa.RecordBatch) -> pa.RecordBatch | pa.Table:
        operator, row = self.operator, batch.to_pylist()[0]
        if isinstance(operator, ops.Custom):
            key = key_of(row, operator.by)
            if key not in self.states:
                self.states[key] = operator.instance.state()
            result = operator.instance.process(row, self.states[key])
        elif operator.per_tuple:
            result = operator.function(row)
        else:
            table = operator.function(batch)
            return table.select(operator.schema.names).cast(operator.schema)
        rows = [] if result is None else [result] if isinstance(result, dict) else list(result)
        return batch_of(rows, operator.schema)


def batch_of(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def plain_rows(table: pa.RecordBatch | pa.Table) -> list[Row]:
    """Rows of plain Python values; moments as microseconds since the epoch."""
    if not isinstance(table, pa.Table):
        table = pa.Table.from_batches([table])
    columns = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in table.columns]
    lists = [column.to_pylist() for column in columns]
    return [dict(zip(table.column_names, values, strict=True)) for values in zip(*lists, strict=True)]
