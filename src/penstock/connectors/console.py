"""Tuples printed in columns."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    """The first `rows` tuples of each micro-batch printed."""

    rows: int = 20


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
        lines += _lines(table.slice(0, min(rows, table.num_rows)))
    return "\n".join(lines)


def _lines(table: pa.Table) -> list[str]:
    columns = []
    for field in table.schema:
        texts = ["" if value is None else str(value) for value in table.column(field.name).to_pylist()]
        width = max(map(len, (field.name, *texts)))
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        columns.append([text.rjust(width) if is_number else text.ljust(width) for text in (field.name, *texts)])
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
