"""A user's function, what it is called with, and what its results are as rows of the output."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


class ElasticFailure(RuntimeError):
    """A call failed for good, and the user wants to hear of it at once."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Rows that one call, or one call per row, works on; `number` is its place in the partition."""

    number: int
    batch: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a unit; `batch` has the output columns, and errors by row where they go into a column."""

    number: int
    rows_in: int
    batch: pa.RecordBatch | None
    error: str | None = None
    busy_s: float = 0.0


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """In the place of a row that Python has no value for, such as a date after the year 9999."""

    error: str


class Calls:
    """Calls of one function.  With `error_column` a failed row gives nulls and its error, else its unit fails."""

    def __init__(
        self,
        function: Callable[..., Any],
        schema: pa.Schema,
        *,
        per_tuple: bool,
        retries: int,
        error_column: str | None,
        timeout_s: float | None,
    ) -> None:
        self.function, self.schema, self.per_tuple, self.retries = function, schema, per_tuple, retries
        self.error_column, self.timeout_s = error_column, timeout_s
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004
        )

    @property
    def output_schema(self) -> pa.Schema:
        return (
            self.schema if self.error_column is None else self.schema.append(pa.field(self.error_column, pa.string()))
        )

    @property
    def late(self) -> str:
        return f"took longer than timeout_s={self.timeout_s:g}"

    def arguments(self, unit: Unit) -> list[Any]:
        """What a unit's calls are made with."""
        if not self.per_tuple:
            return [unit.batch]
        try:
            return list(unit.batch.to_pylist())
        except Exception:
            return [_row(unit.batch, number) for number in range(unit.batch.num_rows)]

    def output(self, result: Any) -> pa.RecordBatch:
        """Dicts of a tuple, or columns of a block, in the output's schema."""
        if self.per_tuple:
            rows = [] if result is None else [result] if isinstance(result, dict) else list(result)
            return self._with_no_error(pa.RecordBatch.from_pylist(rows, self.schema))
        table = pa.table(result) if isinstance(result, dict) else result
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        if not isinstance(table, pa.Table):
            raise TypeError(f"must return an Arrow record batch, a table or a dict of columns; got {_kind(result)}")
        cast = pa.table([table.column(field.name).cast(field.type) for field in self.schema], schema=self.schema)
        batches = cast.combine_chunks().to_batches()
        return self._with_no_error(batches[0] if batches else pa.RecordBatch.from_pylist([], self.schema))

    def failed(self, unit: Unit, error: str) -> pa.RecordBatch:
        """What a failed call gives where errors go into a column."""
        rows = 1 if self.per_tuple else unit.batch.num_rows
        columns = [pa.nulls(rows, field.type) for field in self.schema]
        nullable = pa.schema([field.with_nullable(True) for field in self.output_schema])
        return pa.RecordBatch.from_arrays([*columns, pa.array([error] * rows, pa.string())], schema=nullable)

    def _with_no_error(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.error_column is None:
            return batch
        return batch.append_column(self.error_column, pa.nulls(batch.num_rows, pa.string()))


def _row(batch: pa.RecordBatch, number: int) -> dict[str, Any] | UnreadableRow:
    try:
        return dict(batch.slice(number, 1).to_pylist()[0])
    except Exception as error:
        return UnreadableRow(f"cannot be called with a row that cannot become a dict: {_kind(error)}: {error}")


def _kind(value: Any) -> str:
    return type(value).__name__
