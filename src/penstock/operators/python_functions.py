"""Operators that call the user's Python: map, and operators of the user's own."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.app.operators import Custom, Map
from penstock.block.block import Block, block_of, empty_block
from penstock.block.dead_letters import DeadLetters
from penstock.block.emission import emitted
from penstock.block.position import Frontier, Integers
from penstock.block.row_dicts import row_dicts
from penstock.block.value_checks import check_no_unknown, check_values, checks_of
from penstock.kernels.snapshot import SnapshotFields
from penstock.operators.attributes_read import attributes_read, method_attributes_read
from penstock.operators.protocol import Stateless

ORIGIN = "input_row"  # a block function that drops or adds rows tells here which input row each row came from
_NOT_THE_USERS = (str(Path(__file__).resolve().parents[1]), str(Path(pa.__file__).parent), "pyarrow/")
_FAILURES = (Exception,)  # whatever a user's function raises concerns that tuple alone


class _OneNan(Enum):
    """As a key all NaN are one, in every process."""

    NAN = "nan"


class _WrongRows(ValueError):
    """A block function whose rows do not belong to those it got: tried on one tuple alone it might seem right."""


class MapRuntime(Stateless):
    """A function on blocks; when it raises on a block it is tried on each tuple alone, to find the bad ones."""

    def __init__(self, operator: Map, letters: DeadLetters) -> None:
        self.operator, self.letters = operator, letters
        self._attributes = attributes_read(operator.function) if operator.per_tuple else None
        self._output = _Output(operator.schema)

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        block, own = inputs[0], self.operator
        if own.per_tuple:
            return (_per_row(block, own.name, self._output, own.function, self.letters, self._attributes),)
        if not block.rows:
            return (emitted(block, self.operator.schema, empty_block(self.operator.schema).columns, None),)
        try:
            result, rows = self._call(block.to_arrow())
        except _WrongRows as error:
            self.letters.add_rows(self.operator.name, str(error), block, np.arange(block.rows))
            return (
                emitted(block, self.operator.schema, empty_block(self.operator.schema).columns, np.empty(0, np.int64)),
            )
        except _FAILURES:
            return (self._row_by_row(block),)
        result, rows = self._without_forbidden_nulls(result, rows, block)
        return (emitted(block, self.operator.schema, block_of(result, self.operator.schema).columns, rows),)

    def _without_forbidden_nulls(
        self, result: pa.Table, rows: Integers | None, block: Block
    ) -> tuple[pa.Table, Integers | None]:
        """All that a tuple gave is left out where a part of it is null and must not be: the tuple is a dead letter."""
        nulls = [(name, np.flatnonzero(result.column(name).is_null())) for name in _with_forbidden_nulls(result)]
        if not nulls:
            return result, rows
        origins = np.arange(block.rows) if rows is None else rows
        bad = np.zeros(block.rows, np.bool_)
        for name, places in nulls:
            wrong = np.unique(origins[places])
            self.letters.add_rows(self.operator.name, _null_in(name), block, wrong[~bad[wrong]])
            bad[wrong] = True
        good = np.flatnonzero(~bad[origins])
        return result.take(pa.array(good)), origins[good]

    def _call(self, batch: pa.RecordBatch) -> tuple[pa.Table, Integers | None]:
        result = self.operator.function(batch)
        if isinstance(result, dict):
            result = pa.table(result)
        table = pa.Table.from_batches([result]) if isinstance(result, pa.RecordBatch) else result
        if not isinstance(table, pa.Table):
            raise TypeError(f"must return an Arrow record batch or table; got {type(result).__name__}")
        rows = _origins(table.column(ORIGIN)) if ORIGIN in table.column_names else None
        if rows is None and table.num_rows != batch.num_rows:
            raise _WrongRows(
                f"returned {table.num_rows} rows for {batch.num_rows}; give '{ORIGIN}' for each where they differ"
            )
        if rows is not None and len(rows) and (rows[0] < 0 or rows[-1] >= batch.num_rows or (np.diff(rows) < 0).any()):
            raise _WrongRows(f"returned '{ORIGIN}' that are not ascending numbers of its {batch.num_rows} rows")
        schema = self.operator.schema
        missing = [name for name in schema.names if name not in table.column_names]
        if missing:
            raise ValueError(f"must return a column '{missing[0]}'; got: {', '.join(table.column_names) or 'none'}")
        return pa.table([table.column(f.name).cast(f.type) for f in schema], schema=schema), rows

    def _row_by_row(self, block: Block) -> Block:
        batch = block.to_arrow()
        tables, origins, failures = [], [], dict[int, str]()
        for row in range(block.rows):
            try:
                table, _ = self._call(batch.slice(row, 1))
            except _FAILURES as error:
                failures[row] = str(error) if isinstance(error, _WrongRows) else failure(error)
                if self.letters.fail:
                    break
                continue
            if forbidden := _with_forbidden_nulls(table):
                failures[row] = _null_in(forbidden[0])
                if self.letters.fail:
                    break
                continue
            tables.append(table)
            origins += [row] * table.num_rows
        self.letters.add_failures(self.operator.name, failures, batch)
        table = pa.concat_tables(tables) if tables else self.operator.schema.empty_table()
        columns = block_of(table, self.operator.schema).columns
        return emitted(block, self.operator.schema, columns, np.array(origins, np.int64))


def _origins(column: pa.ChunkedArray) -> Integers:
    """Numbers of input rows; -1, which none has, for what is null."""
    return np.asarray(column.cast(pa.int64()).fill_null(-1), np.int64)


class CustomRuntime(SnapshotFields):
    """A user's operator, with one state per key or one in all."""

    snapshot_fields = ("states",)

    def __init__(self, operator: Custom, letters: DeadLetters) -> None:
        self.operator, self.letters = operator, letters
        self.states: dict[tuple[Any, ...], Any] = {}
        read = method_attributes_read(operator.instance, "process")
        self._attributes = None if read is None else read | frozenset(operator.by)
        self._output = _Output(operator.schema)

    @property
    def state_bytes(self) -> int:
        return sum(sys.getsizeof(state) for state in self.states.values())

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        operator = self.operator
        call = self._call_of_one_key() if len(operator.by) == 1 else self._call
        return (_per_row(inputs[0], operator.name, self._output, call, self.letters, self._attributes),)

    def _call(self, row: dict[str, Any]) -> Any:
        operator, states = self.operator, self.states
        key = tuple(_OneNan.NAN if row[name] != row[name] else row[name] for name in operator.by)
        if key not in states:
            states[key] = operator.instance.state()
        return operator.instance.process(row, states[key])

    def _call_of_one_key(self) -> Callable[[dict[str, Any]], Any]:
        """The same for one attribute, whose calls take about as long as a short function of the user's."""
        (name,), states, instance = self.operator.by, self.states, self.operator.instance

        def call(row: dict[str, Any]) -> Any:
            value = row[name]
            key = (_OneNan.NAN if value != value else value,)
            if key not in states:
                states[key] = instance.state()
            return instance.process(row, states[key])

        return call


def _per_row(
    block: Block,
    name: str,
    output: _Output,
    function: Callable[[dict[str, Any]], Any],
    letters: DeadLetters,
    attributes: frozenset[str] | None,
) -> Block:
    """Calls a function with each tuple as a dict, of these attributes alone where given; it gives None or dicts.

    Results become columns once for all tuples of the block: to convert those of each tuple apart takes ten times as
    long, and is done only where some do not fit.
    """
    batch, given = block.to_arrow(), _Given(output)
    given.take(function, row_dicts(batch, attributes), fails=letters.fail)
    columns = block_of(given.converted(), output.schema).columns
    letters.add_failures(name, given.failures, batch)
    return emitted(block, output.schema, columns, given.origins())


class _Output:
    """What is known of a function's results before it is called: made once, as blocks are often small."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema, self.names, self.checks = schema, schema.names, checks_of(schema)
        self.values_of = itemgetter(*self.names) if len(self.names) > 1 else None


class _Given:
    """What a function gave for the tuples of a block: all values, row by row, and why tuples failed.

    The values lie in one list: a tuple for each row would be one more object for Python to look through for garbage.
    """

    def __init__(self, output: _Output) -> None:
        self._schema, self._names, self._checks = output.schema, output.names, output.checks
        self._values: list[Any] = []
        self._tuples = 0
        self._others: dict[int, int] = {}  # how many rows the tuples gave that did not give one
        self._values_of = output.values_of
        self.failures: dict[int, str] = {}

    def take(
        self, function: Callable[[dict[str, Any]], Any], rows: Iterable[dict[str, Any]], *, fails: bool
    ) -> None:  # fmt: skip
        """Calls the function with each row; where a failure fails the run, rows behind it are not tried."""
        for number, row in enumerate(rows):
            self._tuples = number + 1
            try:
                result = function(row)
                if type(result) is dict:
                    self._add(result)
                else:
                    self._add_several(number, dicts_of(result))
            except _FAILURES as error:
                self._fail(number, failure(error))
                if fails:
                    break

    def _add(self, output: dict[str, Any]) -> None:
        """Values are taken at once: the function may go on changing its dict."""
        if self._checks:
            check_values(output, self._checks)
        try:
            values = self._values_of(output) if self._values_of else (output[self._names[0]],)
        except (KeyError, IndexError):  # what is left out is null; a schema may have no attribute
            self._check_names(output)
            values = map(output.get, self._names)
        self._values.extend(values)

    def _check_names(self, output: dict[str, Any]) -> None:
        """Where an attribute is left out, an unknown one is its name misspelt; beside all others it does no harm."""
        if any(name not in output for name in self._names):
            check_no_unknown(output, self._names, "")

    def _add_several(self, number: int, outputs: list[dict[str, Any]]) -> None:
        for output in outputs:
            self._check_names(output)
            check_values(output, self._checks)
        for output in outputs:
            self._values.extend(map(output.get, self._names))
        self._others[number] = len(outputs)

    def _fail(self, number: int, reason: str) -> None:
        self.failures[number], self._others[number] = reason, 0

    def origins(self) -> Integers:
        """The tuple that each row came from."""
        return np.repeat(np.arange(self._tuples), self._counts())

    def _counts(self) -> Integers:
        counts: Integers = np.ones(self._tuples, np.int64)
        counts[list(self._others)] = list(self._others.values())
        return counts

    def converted(self) -> pa.RecordBatch:
        """All rows; those of a tuple of which one does not fit its types are left out, and the tuple fails."""
        try:
            batch = self._batch(self._values)
        except _FAILURES:
            batch = None
        if batch is None or _with_forbidden_nulls(batch):
            self._leave_out_misfits()
            batch = self._batch(self._values)
        return batch

    def _leave_out_misfits(self) -> None:
        width, gathered = len(self._names), list[Any]()
        stops = np.cumsum(self._counts()) * width
        for number, (start, stop) in enumerate(pairwise([0, *stops.tolist()])):
            values = self._values[start:stop]
            try:
                forbidden = _with_forbidden_nulls(self._batch(values))
            except _FAILURES as error:
                self._fail(number, failure(error))
                continue
            if forbidden:
                self._fail(number, _null_in(forbidden[0]))
                continue
            gathered += values
        self._values = gathered

    def _batch(self, values: list[Any]) -> pa.RecordBatch:
        width = len(self._names)
        arrays = [pa.array(values[place::width], field.type) for place, field in enumerate(self._schema)]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _with_forbidden_nulls(rows: pa.Table | pa.RecordBatch) -> list[str]:
    """The attributes that have a null although their schema forbids it."""
    fields = enumerate(rows.schema)
    return [field.name for place, field in fields if not field.nullable and rows.column(place).null_count]


def _null_in(name: str) -> str:
    return f"gave a null for '{name}', where its schema forbids it"


def dicts_of(result: Any) -> list[dict[str, Any]]:
    """The rows that a function gave for a tuple."""
    if result is None:
        return []
    if isinstance(result, dict):
        return [result]
    if not isinstance(result, Iterable) or isinstance(result, str | bytes | bytearray | Mapping):
        raise TypeError(f"must give None, a dict or several dicts; got {type(result).__name__}")
    rows = list(result)
    for row in rows:
        if not isinstance(row, dict):
            kind = f"{type(result).__name__} with {type(row).__name__}"
            raise TypeError(f"must give None, a dict or several dicts; got {kind}")
    return rows


def failure(error: BaseException) -> str:
    """One short clause about an exception, with the user's line where one raised it."""
    lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [(file, line) for file, line in lines if not file.startswith(_NOT_THE_USERS)]
    place = f" at {Path(own[-1][0]).name}:{own[-1][1]}" if own else ""
    return f"failed with {type(error).__name__}: {_message(error)}{place}"


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the user's own `__str__`
        return "(its message cannot be shown)"
