"""The in-process engine over the same offsets: what results must be equal to, and the rate of one thread.

Beside it, the results that a Parquet sink wrote, counted and summed up in the same way.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark.applications import SINK, SOURCE
from penstock.app.application import Application
from penstock.block.block import Block, block_of
from penstock.connectors.trace.source import TraceSource
from penstock.element.engine import Engine
from penstock.kernels.keys.row_checksum import add_checksums, checksum_of


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


def equals_in_process(app: Application, totals: tuple[int, int, int], block_rows: int) -> bool:
    """Whether results and checksum of a run are those of the in-process engine over as many tuples."""
    tuples, *found = totals
    expected = run_in_process(app, tuples, block_rows)
    return found == [expected.results, expected.checksum]


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


def parquet_totals(folder: Path, schema: pa.Schema, last_batch: int) -> tuple[int, int]:
    """Rows and checksum over the files of a sink's directory, up to a batch: a stop may come just after publishing."""
    count = checksum = 0
    for path in sorted(folder.glob("*.parquet")):
        number = re.search(r"batch-(\d+)", path.name)
        if number is not None and int(number[1]) > last_batch:
            continue
        for batch in pq.ParquetFile(path).iter_batches(batch_size=1 << 17):
            count, checksum = count + batch.num_rows, add_checksums(checksum, checksum_of(block_of(batch, schema)))
    return count, checksum
