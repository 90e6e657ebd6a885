"""A user's function as calls on units of work: rows in, rows or an error out, with retries."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.element.operators.python_functions import failure

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 5.0


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

    def run(self, unit: Unit) -> Outcome:
        """All calls of a unit, one after the other."""
        begin = time.perf_counter()
        parts, error = [], None
        for argument, rows in self._arguments(unit):
            try:
                parts.append(self._output(self._tried(argument)))
            except Exception as raised:  # whatever the user's function raises concerns these rows alone
                error = failure(raised)
                if self.error_column is None:
                    break
                parts.append(self._failed(rows, error))
        return self._outcome(unit, parts, error, begin)

    async def run_async(self, unit: Unit) -> Outcome:
        """The same for functions that are coroutines; a call may take at most the timeout."""
        begin = time.perf_counter()
        parts, error = [], None
        for argument, rows in self._arguments(unit):
            try:
                parts.append(self._output(await self._tried_async(argument)))
            except Exception as raised:
                late = isinstance(raised, TimeoutError) and not str(raised)
                error = self.late if late else failure(raised)
                if self.error_column is None:
                    break
                parts.append(self._failed(rows, error))
        return self._outcome(unit, parts, error, begin)

    def timed_out(self, unit: Unit) -> Outcome:
        """What a unit gives whose call has not come back in time."""
        parts = [] if self.error_column is None else [self._failed(unit.batch.num_rows, self.late)]
        return self._outcome(unit, parts, self.late, time.perf_counter() - (self.timeout_s or 0.0))

    @property
    def late(self) -> str:
        return f"took longer than timeout_s={self.timeout_s:g}"

    def _arguments(self, unit: Unit) -> Iterable[tuple[Any, int]]:
        if self.per_tuple:
            return [(row, 1) for row in unit.batch.to_pylist()]
        return [(unit.batch, unit.batch.num_rows)]

    def _tried(self, argument: Any) -> Any:
        pause_s = _FIRST_PAUSE_S
        for attempt in range(self.retries + 1):
            try:
                return self.function(argument)
            except Exception:
                if attempt == self.retries:
                    raise
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        raise AssertionError

    async def _tried_async(self, argument: Any) -> Any:
        pause_s = _FIRST_PAUSE_S
        for attempt in range(self.retries + 1):
            try:
                return await asyncio.wait_for(self.function(argument), self.timeout_s)
            except Exception:
                if attempt == self.retries:
                    raise
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        raise AssertionError

    def _output(self, result: Any) -> pa.RecordBatch:
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

    def _with_no_error(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.error_column is None:
            return batch
        return batch.append_column(self.error_column, pa.nulls(batch.num_rows, pa.string()))

    def _failed(self, rows: int, error: str) -> pa.RecordBatch:
        columns = [pa.nulls(rows, field.type) for field in self.schema]
        nullable = pa.schema([field.with_nullable(True) for field in self.output_schema])
        return pa.RecordBatch.from_arrays([*columns, pa.array([error] * rows, pa.string())], schema=nullable)

    def _outcome(self, unit: Unit, parts: list[pa.RecordBatch], error: str | None, begin: float) -> Outcome:
        busy_s = time.perf_counter() - begin
        if error is not None and self.error_column is None:
            return Outcome(unit.number, unit.batch.num_rows, None, error, busy_s)
        batch = parts[0] if len(parts) == 1 else pa.concat_batches(parts) if parts else None
        return Outcome(unit.number, unit.batch.num_rows, batch, None, busy_s)


def _kind(value: Any) -> str:
    return type(value).__name__
