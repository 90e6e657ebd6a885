"""The in-process engine over the same offsets: what results must be equal to, and the rate of one thread."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.spark.applications import SINK, SOURCE
from penstock.app.application import Application
from penstock.block.block import Block, block_of
from penstock.connectors.trace.source import TraceSource
from penstock.element.engine import Engine
from penstock.state.slots.row_checksum import add_checksums, checksum_of


@dataclass(frozen=True, slots=True)
class InProcess:
    """Results over offsets 0..tuples, and the seconds it took to make the tuples, process them and sum them up."""

    tuples: int
    results: int
    checksum: int
    seconds: float

    @property
    def tuples_s(self) -> float:
        return self.tuples / self.seconds if self.seconds > 0 else 0.0


def run_in_process(app: Application, tuples: int, block_rows: int) -> InProcess:
    """The discard sink's count and checksum as they must be after `tuples` tuples."""
    begin, count, checksum = time.perf_counter(), 0, 0
    for block in result_blocks(app, tuples, block_rows):
        count, checksum = count + block.rows, add_checksums(checksum, checksum_of(block))
    return InProcess(tuples, count, checksum, time.perf_counter() - begin)


def result_blocks(app: Application, tuples: int, block_rows: int) -> Iterator[Block]:
    """Blocks of the sink."""
    graph = app.graph
    source = graph.sources[0]
    assert isinstance(source.connector, TraceSource)
    trace, engine = source.connector.open(), Engine(graph, block_rows=block_rows)
    for start in range(0, tuples, block_rows):
        stop = min(start + block_rows, tuples)
        outputs = engine.process({SOURCE: block_of(trace.batch(start, stop), source.schema)})
        if SINK in outputs:
            yield outputs[SINK]
