"""A user's function, and what it is called with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from penstock.element.pool.output import Output, Row
from penstock.errors import OperatorError
from penstock.operators.python_functions import failure

Part: TypeAlias = "list[Row] | pa.RecordBatch"  # what one call gave: rows of a tuple, or a block


class ElasticFailure(OperatorError):
    """A call failed for good, and the user wants to hear of it at once."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Rows that one call, or one call per row, works on; `number` is its place in the partition.

    `arguments` are what its calls are made with, where they are known already.
    """

    number: int
    batch: pa.RecordBatch
    arguments: Sequence[Any] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a unit: what each call gave, or why the unit failed."""

    unit: Unit
    parts: Sequence[Part]
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
        input_type: pa.DataType | None = None,
    ) -> None:
        self.function, self.per_tuple, self.retries, self.timeout_s = function, per_tuple, retries, timeout_s
        self.error_column = error_column
        self.output = Output(schema, error_column=error_column, input_type=input_type)
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004
        )

    @property
    def late(self) -> str:
        return f"took longer than timeout_s={self.timeout_s:g}"

    def arguments(self, batch: pa.RecordBatch) -> list[Any]:
        """What the calls for so many rows are made with."""
        if not self.per_tuple:
            return [batch]
        try:
            return _dicts(batch)
        except Exception:
            return [_row(batch, number) for number in range(batch.num_rows)]

    def gave(self, result: Any) -> Part:
        """What a call gave, if it can be output."""
        return self.output.rows(result) if self.per_tuple else self.output.block(result)

    def failed(self, unit: Unit, number: int, error: str) -> Part:
        """What call `number` of a unit gives that failed, where errors go into a column."""
        if self.per_tuple:
            return [self.output.failed_row(unit.batch, number, error)]
        return self.output.failed_block(unit.batch, error)

    def joined(self, outcomes: Sequence[Outcome]) -> pa.RecordBatch:
        """What the calls of units gave, all at once: for each alone it takes ten times as long.

        Raises where a value turns out not to fit, unless errors go into a column: then its call fails alone.
        """
        parts = [part for outcome in outcomes for part in outcome.parts]
        if not self.per_tuple:
            return parts[0] if len(parts) == 1 else pa.concat_batches(parts)
        try:
            return self._of_parts(parts)
        except Exception:
            if self.error_column is None:
                raise
        return self._of_parts(
            [
                self._checked_part(outcome.unit, number, part)
                for outcome in outcomes
                for number, part in enumerate(outcome.parts)
            ]
        )

    def _checked_part(self, unit: Unit, number: int, part: Part) -> Part:
        try:
            self._of_parts([part])
        except Exception as raised:
            return self.failed(unit, number, failure(raised))
        return part

    def _of_parts(self, parts: Sequence[Part]) -> pa.RecordBatch:
        return self.output.of_rows([row for part in parts for row in part])


def _dicts(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return list(batch.to_pylist(maps_as_pydicts=_maps_as(batch.schema)))


def _row(batch: pa.RecordBatch, number: int) -> dict[str, Any] | UnreadableRow:
    try:
        return _dicts(batch.slice(number, 1))[0]
    except Exception as error:
        kind = type(error).__name__
        return UnreadableRow(f"cannot be called with a row that cannot become a dict: {kind}: {error}")


@functools.lru_cache(maxsize=8)
def _maps_as(schema: pa.Schema) -> str | None:
    """Maps are dicts, unless some have keys that a dict cannot have: then all are lists of pairs."""
    maps = [own for kind in schema.types for own in _maps_in(kind)]
    # Without maps not even that: it takes twice as long.
    return "strict" if maps and not any(pa.types.is_nested(own.key_type) for own in maps) else None


def _maps_in(kind: pa.DataType) -> Iterator[pa.DataType]:
    if pa.types.is_map(kind):
        yield kind
        yield from _maps_in(kind.item_type)
    else:
        for number in range(kind.num_fields):
            yield from _maps_in(kind.field(number).type)
