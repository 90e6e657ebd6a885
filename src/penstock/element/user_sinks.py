"""Sinks that call the user's function or print: the same in every engine."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.app.connectors import CallbackSink, ConsoleSink
from penstock.app.operators import Sink
from penstock.errors import InputError, OperatorError


def call_sink(sink: Sink, given: Any, batch: int) -> None:
    """Gives a batch's tuples to the sink's function; what that raises is told with the sink's name."""
    function = sink.connector.function  # type: ignore[union-attr]
    if function is None:
        raise InputError(
            f"sink '{sink.name}' has lost its function on the way through a file; build the application anew"
        )
    try:
        function(given, batch)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise OperatorError(f"the function of sink '{sink.name}' failed at batch {batch}: {reason}") from error


def deliver_to_user(sink: Sink, table: pa.Table, batch: int) -> None:
    """Calls back or prints, where the sink does so."""
    if isinstance(sink.connector, CallbackSink):
        call_sink(sink, table, batch)
    elif isinstance(sink.connector, ConsoleSink):
        print(console_text(sink.name, table, batch, sink.connector.rows), flush=True)


def console_text(name: str, table: pa.Table, batch: int, rows: int) -> str:
    """The first rows of a table in columns, under a line that says whose they are.

    >>> print(console_text("out", pa.table({"x": [1, 20, 3], "name": ["a", None, "c"]}), 7, rows=2))
    out, batch 7: 3 tuples, the first 2
     x  name
     1  a
    20
    """
    count = f"{table.num_rows:,} tuple{'s' if table.num_rows != 1 else ''}"
    lines = [f"{name}, batch {batch}: {count}" + (f", the first {rows}" if table.num_rows > rows else "")]
    if rows and table.num_rows:
        lines += _lines(table.slice(0, rows))
    return "\n".join(lines)


def _lines(table: pa.Table) -> list[str]:
    columns = []
    for field in table.schema:
        texts = ["" if value is None else str(value) for value in table.column(field.name).to_pylist()]
        width = max(map(len, (field.name, *texts)))
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        columns.append([text.rjust(width) if is_number else text.ljust(width) for text in (field.name, *texts)])
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
