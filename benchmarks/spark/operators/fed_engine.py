"""The jobs of benchmark `operators` in one process on one thread: files read, results counted or written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.spark.applications import SINK
from benchmarks.spark.operators.operator_cases import OperatorCase, application
from benchmarks.spark.operators.operator_files import CLOSING, CLOSING_ROWS
from penstock import sinks
from penstock.block.block import block_of
from penstock.element.engine import Engine
from penstock.kernels.keys.row_checksum import add_checksums, checksum_of


@dataclass(frozen=True, slots=True)
class Fed:
    """What the in-process engine made of all tuples, and its rate behind the first file, which compiles kernels.

    `closing_results` are of the rows that only let windows end.
    """

    tuples: int
    results: int
    closing_results: int
    checksum: int
    dead_letters: int
    tuples_s: float


def run_fed(case: OperatorCase, folders: Sequence[Path], out: Path, block_rows: int) -> Fed:
    """File by file of all venues in turn; reading is part of the job, as is a Parquet sink's writing."""
    app = application(case, None, sinks.discard())
    engine, schema = Engine(app, block_rows=block_rows), app.graph.sinks[0].schema
    totals, write = _Totals(schema), _writer(case, out, schema)
    tuples, letters, closing, begin_s, behind = 0, 0, 0, time.perf_counter(), 0
    for number, tables in enumerate(_tables(folders)):
        is_last = tables[0].num_rows == CLOSING_ROWS
        if number == 1:
            begin_s, behind = time.perf_counter(), tuples
        tuples += sum(table.num_rows for table in tables)
        for batch in engine.feed(dict(zip(case.venues, tables, strict=True)))[SINK]:
            totals.add(batch)
            write(batch)
            closing += _closing(batch) if is_last else 0
        letters += engine.letters.drain().num_rows
    seconds = time.perf_counter() - begin_s
    rate_tuples_s = (tuples - behind) / max(seconds, 1e-9)
    return Fed(tuples, totals.results, closing, totals.checksum, letters, rate_tuples_s)


def _closing(batch: pa.RecordBatch) -> int:
    return pc.sum(pc.starts_with(batch.column("ticker").cast(pa.string()), CLOSING)).as_py() or 0


def _tables(folders: Sequence[Path]) -> Iterator[list[pa.Table]]:
    for paths in zip(*(sorted(folder.glob("*.parquet")) for folder in folders), strict=True):
        yield [pq.read_table(path, use_threads=False) for path in paths]


def _writer(case: OperatorCase, out: Path, schema: pa.Schema) -> Callable[[pa.RecordBatch], None]:
    if case.sink != "parquet":
        return lambda batch: None
    out.mkdir(parents=True)
    writer = pq.ParquetWriter(out / "out.parquet", schema, compression="lz4")
    return writer.write_batch  # type: ignore[no-any-return]


class _Totals:
    """Results counted, and summed up in the checksum of a discard sink."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema, self.results, self.checksum = schema, 0, 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.results += batch.num_rows
        self.checksum = add_checksums(self.checksum, checksum_of(block_of(batch, self._schema)))
