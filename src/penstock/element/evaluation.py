"""Finite input in, tables out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import pyarrow as pa

from penstock.app.application import Application, graph_of
from penstock.app.graph import Graph
from penstock.arguments import shown
from penstock.block.dead_letters import DeadLetters
from penstock.block.schema import word_of
from penstock.connectors.files.readers import read_file, read_source
from penstock.connectors.sinks.one_delivery import deliver_once
from penstock.element.engine import AtEnd, Batches, Engine, check_at_end
from penstock.errors import InputError, UnknownNameError, did_you_mean
from penstock.measure.html_table import amount

Input: TypeAlias = (
    "pa.Table | pa.RecordBatch | Mapping[str, object] | Sequence[Mapping[str, object]] | str | Path | Any"
)
Progress = Callable[[int, int], None]
MakeEngine = Callable[..., Engine]
_FEED_BLOCKS = 64
_ROWS_SHOWN = 10


class Tables(dict[str, pa.Table]):
    """Tables by sink (and tap); `dead_letters` has the tuples that could not be used, with operator and reason.

    `written` lists the files that sinks with a directory have written; `advice` names operators that threads do not
    speed up.

    >>> tables = Tables(out=pa.table({"x": [1, 2]}))
    >>> tables["out"].num_rows
    2
    """

    dead_letters: pa.Table
    state_bytes: Mapping[str, int]
    written: tuple[Path, ...]
    advice: tuple[str, ...]

    def __missing__(self, name: object) -> pa.Table:
        hint = did_you_mean(name, self)
        known = f"there are: {', '.join(self) or 'none'}" + (f"; {hint}" if hint else "")
        raise UnknownNameError(f"there is no result '{name}'; {known}")

    def __getattr__(self, name: str) -> Any:
        hint = f"; a result is tables['{name}']" if name in self else ""
        raise AttributeError(f"tables have no attribute '{name}'{hint}")

    def _repr_html_(self) -> str:
        """What notebooks show: the first rows of each table."""
        return "".join(_html(name, table) for name, table in self.items())


def _html(name: str, table: pa.Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.column_names)
    rows = (
        "".join(f"<td>{escape(str(value))}</td>" for value in row.values())
        for row in table.slice(0, _ROWS_SHOWN).to_pylist()
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    more = f", the first {_ROWS_SHOWN} of them" if table.num_rows > _ROWS_SHOWN else ""
    caption = f"<caption>{escape(name)}: {amount(table.num_rows, 'tuple')}{more}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def evaluate(
    app: Application | Graph,
    inputs: Mapping[str, Input] | None = None,
    *,
    block_rows: int = 8192,
    taps: Iterable[str] = (),
    data_dir: str | Path | None = None,
    on_error: str = "dead_letter",
    progress: Progress | None = None,
    at_end: AtEnd = "hold",
    make_engine: MakeEngine = Engine,
) -> Tables:
    """Runs an application over finite input and gives what each sink (and tap) got, in order.

    `inputs` has a table (or a DataFrame, columns, rows, a file's path) per source; a source that is not in it reads its
    own connector.
    A sink with a directory of its own (`ps.sinks.parquet`, `ps.sinks.csv`) is written there, too; one that calls back
    is called once, with batch 0.
    `progress` is called with (tuples done, tuples in all). With `at_end="fire"` windows fire what they hold at the end
    of the input; by default that stays in them. `make_engine` gets the graph and what an engine needs.
    """
    graph = graph_of(app, "ps.evaluate")
    check_at_end(at_end)
    _check_sinks(graph)
    engine = make_engine(graph, block_rows=block_rows, taps=taps, on_error=on_error, at_end=at_end)
    tables = read_inputs(graph, inputs or {}, engine.letters, data_dir)
    results = _run(engine, tables, progress)
    return _gather(engine, results)


def _check_sinks(graph: Graph) -> None:
    for sink in graph.sinks:
        if sink.connector.promise.needs_spark:
            raise InputError(f"sink '{sink.name}' gives DataFrames to its function, which only engine='spark' has; "
                             "use ps.sinks.callback(...) for tables")  # fmt: skip


def read_inputs(
    graph: Graph, inputs: Mapping[str, Input], letters: DeadLetters, data_dir: str | Path | None = None
) -> dict[str, pa.Table]:
    """A table per source, from what was given or from the source's own connector."""
    unknown = sorted({*map(str, inputs)} - {s.name for s in graph.sources})
    if unknown:
        names = [s.name for s in graph.sources]
        hint = did_you_mean(unknown[0], names)
        known = f"it has: {', '.join(names)}" + (f"; {hint}" if hint else "")
        raise InputError(f"application '{graph.name}' has no source '{unknown[0]}'; {known}")
    tables = {}
    for source in graph.sources:
        given = inputs.get(source.name)
        if given is None:
            tables[source.name] = read_source(source, letters, data_dir)
        elif isinstance(given, str | Path):
            tables[source.name] = read_file(given, source, letters)
        elif isinstance(given, pa.RecordBatch):
            tables[source.name] = pa.Table.from_batches([given])
        elif isinstance(given, pa.Table):
            tables[source.name] = given
        elif isinstance(given, Mapping):
            tables[source.name] = _from_columns(given, source.schema, source.name)
        elif _are_rows(given):
            tables[source.name] = _from_columns(_columns_of(given), source.schema, source.name)
        elif hasattr(given, "__arrow_c_stream__"):  # DataFrames of pandas, polars and others
            tables[source.name] = pa.table(given)
        else:
            raise InputError(
                f"source '{source.name}' takes a table, a DataFrame, a dict of columns, a list of rows as dicts, or a "
                f"file's path; got {shown(given)}"
            )
    return tables


def _are_rows(given: object) -> TypeGuard[Sequence[Mapping[Any, object]]]:
    return isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(row, Mapping) for row in given)


def _columns_of(rows: Sequence[Mapping[Any, object]]) -> dict[str, list[object]]:
    """A column for each name that some row has; null where others have none."""
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _from_columns(columns: Mapping[str, object], schema: pa.Schema, name: str) -> pa.Table:
    if missing := [own for own in schema.names if own not in columns]:
        raise InputError(f"source '{name}' needs the attributes {', '.join(schema.names)}; its input lacks "
                         f"{', '.join(missing)}; it has: {', '.join(map(str, columns)) or 'none'}")  # fmt: skip
    arrays = {field.name: _column(columns[field.name], field, name) for field in schema}
    if len({len(array) for array in arrays.values()}) > 1:
        lengths = ", ".join(f"{own} {len(array)}" for own, array in arrays.items())
        raise InputError(f"source '{name}' cannot use its input: its columns have different lengths ({lengths})")
    return pa.table(arrays)


def _column(values: object, field: pa.Field, source: str) -> pa.Array:
    try:
        return _array(values, field.type)
    except (pa.ArrowException, OverflowError, TypeError) as error:
        wanted = f"'{field.name}' as {word_of(field.type)}"
        raise InputError(f"source '{source}' cannot use its input: it needs {wanted}: {error}") from error


def _array(values: object, type_: pa.DataType) -> pa.Array:
    """Values as a type; Arrow alone would cut the fractions off what should be integers."""
    array = guessed = pa.array(values, type_)
    if pa.types.is_integer(type_):
        with contextlib.suppress(OverflowError):  # Arrow guesses int64, which a uint64 may exceed
            guessed = pa.array(values)
    return guessed.cast(type_) if pa.types.is_floating(guessed.type) and not pa.types.is_floating(type_) else array


def _run(engine: Engine, tables: dict[str, pa.Table], progress: Progress | None) -> Batches:
    """Feeds a single source in pieces, so that progress can be shown; several sources are merged whole."""
    total = sum(table.num_rows for table in tables.values())
    results: Batches = {name: [] for name in engine.collected}
    done = 0
    piece = engine.block_rows * _FEED_BLOCKS if len(tables) == 1 else max(total, 1)
    for name, table in tables.items():
        for start in range(0, max(table.num_rows, 1), piece):
            _extend(results, engine.feed({name: table.slice(start, piece)}))
            done += min(piece, table.num_rows - start)
            if progress is not None:
                progress(done, total)
    _extend(results, engine.finish())
    return results


def _extend(results: Batches, more: Batches) -> None:
    for name, batches in more.items():
        results[name].extend(batches)


def _gather(engine: Engine, results: Batches) -> Tables:
    tables = Tables()
    for name, stream in engine.collected.items():
        schema = engine.graph.producer(stream).schema
        tables[name] = pa.Table.from_batches(results[name], schema).unify_dictionaries()
    tables.dead_letters = engine.letters.table()
    tables.state_bytes = engine.state_bytes
    tables.advice = engine.advice
    tables.written = deliver_all(engine.graph, tables)
    return tables


def deliver_all(graph: Graph, tables: Mapping[str, pa.Table], session: Any = None) -> tuple[Path, ...]:
    """Delivers to each sink what it got, and gives the files that were written."""
    given = (deliver_once(sink.name, sink.connector, tables[sink.name], session) for sink in graph.sinks)
    return tuple(file for delivered in given for file in delivered.files)
