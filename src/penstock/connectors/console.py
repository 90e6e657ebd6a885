"""Tuples printed in columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from penstock.arguments import is_whole
from penstock.block.block import Block
from penstock.connectors.sinks.arrow_part import ArrowPart
from penstock.connectors.sinks.sink_port import Claim, Delivery, Part, SinkPromise, Sweep
from penstock.errors import Problem


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    """The first `rows` tuples of each micro-batch printed."""

    rows: int = 20

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("at least once")

    def problems(self) -> Iterator[Problem]:
        if not is_whole(self.rows, 0):
            yield Problem("", f"needs rows as a whole number of at least 0; got {self.rows!r}")

    def claim(self, claim: Claim) -> None:
        """Everybody may print."""

    def open(self, part: Part) -> ArrowPart:
        return part.stage()

    def write(self, opened: ArrowPart, tuples: Block) -> None:
        opened.write(tuples)

    def publish(self, delivery: Delivery) -> None:
        if delivery.parts:
            delivery.fence()
            print(console_text(delivery.sink, delivery.table(), delivery.batch, self.rows), flush=True)

    def sweep(self, sweep: Sweep) -> None:
        """Parts are in the checkpoint."""


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
