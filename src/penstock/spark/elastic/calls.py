"""A user's function, and what it is called with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.spark.elastic.output import Output


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
        self.function, self.per_tuple, self.retries, self.timeout_s = function, per_tuple, retries, timeout_s
        self.error_column = error_column
        self.output = Output(schema, per_tuple=per_tuple, error_column=error_column)
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004
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

    def failed(self, unit: Unit, error: str) -> pa.RecordBatch:
        """What a failed call of a unit gives where errors go into a column."""
        return self.output.failed(1 if self.per_tuple else unit.batch.num_rows, error)


def _row(batch: pa.RecordBatch, number: int) -> dict[str, Any] | UnreadableRow:
    try:
        return dict(batch.slice(number, 1).to_pylist()[0])
    except Exception as error:
        kind = type(error).__name__
        return UnreadableRow(f"cannot be called with a row that cannot become a dict: {kind}: {error}")
