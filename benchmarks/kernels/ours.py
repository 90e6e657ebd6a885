"""The engine at work on ready blocks, as a worker calls it: blocks in, blocks out, no conversion counted."""

from __future__ import annotations

import pyarrow as pa

from benchmarks.kernels.job import Job
from benchmarks.kernels.loop import Array
from penstock.block.block import Block
from penstock.block.column import FixedColumn
from penstock.element.engine import Engine


class Ours:
    """An engine with the blocks of a job; `run(i)` processes block i."""

    def __init__(self, job: Job) -> None:
        self._engine = Engine(job.application.graph, on_error="fail")
        self._blocks = _blocks(self._engine, job)
        self._times = _own_times(self._blocks, job)
        self._span_us = job.span_us

    def run(self, number: int) -> dict[str, Block]:
        """What the sinks get for one block."""
        return self._engine.process(self._blocks[number])

    def table(self, number: int) -> pa.Table | None:
        """What the sink gets for one block, as a table; None where that is nothing."""
        block = self.run(number).get("out")
        return None if block is None else pa.Table.from_batches([block.to_arrow()])

    def advance(self) -> None:
        """Moves event times on, for the next pass over the same blocks."""
        for values in self._times:
            values += self._span_us


def _blocks(engine: Engine, job: Job) -> list[dict[str, Block]]:
    """The working set in blocks, with positions where streams are merged."""
    for name, table in job.tables.items():
        engine.intakes[name].add(table)
    return [{name: engine.intakes[name].take(rows) for name, rows in cut.items()} for cut in job.cuts]


def _own_times(blocks: list[dict[str, Block]], job: Job) -> list[Array]:
    """The arrays of event times, made writable."""
    times = []
    for block in (b for step in blocks for b in step.values() if job.times is not None):
        column = block.column(str(job.times))
        assert isinstance(column, FixedColumn)
        column.values = column.values.copy()
        times.append(column.values)
    return times
