"""A replayable trace, opened: tuples by offset, and when each of them arrives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.connectors.trace.arrivals import Arrivals, generated_arrivals
from penstock.connectors.trace.block import TraceBlock
from penstock.connectors.trace.keys import Words, zipf_alias
from penstock.connectors.trace.market import Floats
from penstock.connectors.trace.market_tables import base_cents, kind_names, names_of, volumes
from penstock.connectors.trace.rate_files import read_traces
from penstock.connectors.trace.rates import UNBOUNDED
from penstock.connectors.trace.schedule import Schedule, key_names, recorded_schedule
from penstock.connectors.trace.source import TraceSource, TupleFunction, tuple_schema
from penstock.connectors.trace.tuple_kernels import fill_given, fill_uniform, fill_weighted, word_of_seed
from penstock.errors import InputError, OperatorError


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What a TraceSource stands for; the tuple at an offset depends on the settings (and files) and the offset alone.

    `arrivals` is None where the rate is unbounded.  It can be pickled whole, for hosts that lack the files.
    """

    source: TraceSource
    schema: pa.Schema
    arrivals: Arrivals | None
    schedule: Schedule | None
    alias: Words | None

    @classmethod
    def of(cls, source: TraceSource) -> Trace:
        """Reads the files, if there are any, and makes the tables."""
        schedule, arrivals = None, None
        if not isinstance(source.rate, str):
            files = read_traces(source.rate)
            schedule = recorded_schedule(files, source.rate_tuples_s, source.seed, source.speed_up)
            arrivals = schedule.arrivals
        elif source.rate != UNBOUNDED:
            assert source.rate_tuples_s is not None
            rate = source.rate, source.rate_tuples_s, source.seed
            arrivals = generated_arrivals(*rate, source.speed_up, source.period_s)
        schema = tuple_schema(source.ticker) if source.function is None else _first_schema(source.function)
        alias = zipf_alias(source.keys, source.seed) if source.key_distribution == "zipf" else None
        return cls(source, schema, arrivals, schedule if source.key_distribution == "traces" else None, alias)

    @property
    def total(self) -> int | None:
        """How many tuples there are; None where there is no end."""
        ends = (self.source.total, None if self.arrivals is None else self.arrivals.total)
        return min((end for end in ends if end is not None), default=None)

    @property
    def tickers(self) -> pa.Array:
        """The ticker of each code."""
        if self.schedule is not None and not isinstance(self.source.rate, str):
            return key_names(self.source.rate)
        return names_of(self.source.keys)

    @property
    def kinds(self) -> pa.Array:
        """The type of each code."""
        return kind_names()

    def arrived_by(self, time_s: float) -> int | None:
        """How many tuples are there before a moment; None where any number is, since the rate is unbounded."""
        if self.arrivals is None:
            return self.total
        count = self.arrivals.arrived_by(time_s)
        return count if self.total is None else min(count, self.total)

    def arrival_s(self, offsets: npt.NDArray[np.int64]) -> Floats | None:
        """When the tuples arrive, in seconds since the trace began; None where the rate is unbounded."""
        return None if self.arrivals is None else self.arrivals.arrival_s(offsets)

    def block(self, start: int, stop: int, into: TraceBlock | None = None) -> TraceBlock:
        """The tuples at offsets start..stop as arrays; `into` is filled again where it has room, which is faster."""
        if self.source.function is not None:
            raise InputError("a trace whose tuples a function makes has no block of them; use batch(start, stop)")
        self._check(start, stop)
        rows = stop - start
        block = TraceBlock.empty(rows) if into is None or len(into.seq) < rows else into.head(rows)
        fixed = base_cents(self.source.seed), volumes(), *block.columns
        seed_word = word_of_seed(self.source.seed)
        if self.schedule is not None:
            self.schedule.fill_codes(start, block.ticker)
            fill_given()(start, seed_word, *fixed)
        elif self.alias is not None:
            fill_weighted()(start, seed_word, self.alias, *fixed)
        else:
            fill_uniform()(start, seed_word, self.source.keys, *fixed)
        return block

    def batch(self, start: int, stop: int) -> pa.RecordBatch:
        """The tuples at offsets start..stop as an Arrow batch of `schema`."""
        if self.source.function is not None:
            self._check(start, stop)
            return _called(self.source.function, np.arange(start, stop), self.schema)
        block = self.block(start, stop)
        columns = map(pa.array, block.columns)
        names = {"ticker": self.tickers, "ttype": self.kinds}
        written = (_written(column, field, names) for column, field in zip(columns, self.schema, strict=True))
        return pa.RecordBatch.from_arrays(list(written), schema=self.schema)

    def table(self, start: int = 0, stop: int | None = None) -> pa.Table:
        """The tuples at offsets start..stop (to the end, where there is one) as an Arrow table."""
        end = self.total if stop is None else stop
        if end is None:
            raise InputError("a table of a trace without an end needs a stop; got None; or give the trace a total")
        return pa.Table.from_batches([self.batch(start, end)])

    def _check(self, start: int, stop: int) -> None:
        total = self.total
        if not 0 <= start <= stop or (total is not None and stop > total):
            end = "" if total is None else f" <= {total}"
            raise InputError(f"a trace has offsets 0 <= start <= stop{end}; got {start} and {stop}")


def _written(codes: pa.Array, field: pa.Field, names: Mapping[str, pa.Array]) -> pa.Array:
    if pa.types.is_dictionary(field.type):
        return pa.DictionaryArray.from_arrays(codes, names[field.name])
    return names[field.name].take(codes) if pa.types.is_string(field.type) else codes


def _first_schema(function: TupleFunction) -> pa.Schema:
    return _called(function, np.zeros(1, np.int64), None).schema


def _called(function: TupleFunction, offsets: npt.NDArray[np.int64], schema: pa.Schema | None) -> pa.RecordBatch:
    """What a user's function gives for offsets, in the schema that it gave for the first."""
    name = getattr(function, "__name__", repr(function))
    fail = partial(_failure, name)
    try:
        batch = _as_batch(function(offsets))
    except Exception as error:
        raise OperatorError(f"the function {name} of a trace failed on {len(offsets)} offsets: {error}") from error
    if batch.num_rows != len(offsets):
        raise fail(f"needs one row per offset, {len(offsets)}", batch.num_rows)
    if schema is None or batch.schema == schema:
        return batch
    try:
        return pa.RecordBatch.from_arrays([batch.column(f.name).cast(f.type) for f in schema], schema=schema)
    except (KeyError, pa.ArrowException) as error:
        raise fail(f"needs the attributes that it gave for offset 0, {schema.names}", error) from error


def _failure(name: str, rule: str, got: Any) -> InputError:
    return InputError(f"the function {name} of a trace {rule}; got {got}")


def _as_batch(given: Any) -> pa.RecordBatch:
    if isinstance(given, pa.RecordBatch):
        return given
    table = given if isinstance(given, pa.Table) else pa.table(dict(given))
    batches = table.combine_chunks().to_batches()
    return (
        batches[0]
        if batches
        else pa.RecordBatch.from_arrays([c.combine_chunks() for c in table.columns], schema=table.schema)
    )
