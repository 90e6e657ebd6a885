"""Benchmark `files`: our engine on files, a no-op of Spark's beside the DataFrame, stock PySpark and polars offline."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from benchmarks.kernels.cases.vwap_cases import polars_vwap
from benchmarks.report import Show
from benchmarks.spark.applications import SINK, SOURCE, vwap_on
from benchmarks.spark.batches import Throughput, throughput
from benchmarks.spark.files.file_sets import FileSet, trade_tables, write_files
from benchmarks.spark.files.memory import resident_mb
from benchmarks.spark.sustained import configuration_of
from benchmarks.spark.vwap.stock import STOCK_CONF
from benchmarks.spark.vwap.stock_state import by_apply_in_pandas_with_state
from benchmarks.spark.watching import observations_of, started, watch_for
from penstock import sinks, sources
from penstock.app.application import Application
from penstock.block.block import block_of
from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.element.engine import Engine
from penstock.host.allocator import MALLOC_DEFAULTS
from penstock.kernels.keys.row_checksum import add_checksums, checksum_of
from penstock.measure.observation import Observation
from penstock.spark.session.log_redirect import environment
from penstock.testing import local_session

FRAME_SQL = "seq long, ticker string, ttype string, price double, volume double"
_BLOCK_ROWS = 131_072


@dataclass(frozen=True, slots=True)
class FilesEffort:
    """Rows and files of each kind, and how many tuples warm up; `distinct` files are written, others link to them."""

    rows: int = 1_000_000
    distinct: int = 8
    files: int = 264
    warm_tuples: int = 60_000_000
    csv_files: int = 40
    csv_warm_tuples: int = 12_000_000
    frame_files: int = 60
    frame_warm_tuples: int = 20_000_000
    trace_warm_s: float = 8.0
    trace_s: float = 15.0
    stock_s: float = 25.0
    keys: int = 2836
    micro_batch_tuples: int = 8_388_608
    limit_s: float = 600.0
    with_system_malloc: bool = True


QUICK = FilesEffort(
    rows=500_000, distinct=4, files=60, warm_tuples=10_000_000, csv_files=12, csv_warm_tuples=2_000_000, frame_files=24,
    frame_warm_tuples=4_000_000, trace_warm_s=4.0, trace_s=6.0, stock_s=8.0,
    micro_batch_tuples=4_194_304, with_system_malloc=False,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FilesRun:
    """A run of ours: its rate once warm, what came out in all, and the memory of Spark's processes at its end."""

    rate: Throughput
    tuples: int
    results: int
    checksum: int
    dead_letters: int
    memory_mb: float


@dataclass(frozen=True, slots=True)
class FilesResult:
    """Everything that one run of the bench measured."""

    parquet: FilesRun
    parquet_system: FilesRun | None  # with the allocator's own settings
    csv: FilesRun
    frame: FilesRun
    trace: Throughput  # of a trace with string tickers, as `benchmarks vwap` has it
    noop_tuples_s: float
    arrow_csv_tuples_s: float
    stock_tuples_s: float | None
    polars_tuples_s: float
    equal: dict[str, bool]


def run_files(effort: FilesEffort, folder: Path, show: Show) -> FilesResult:
    """Each kind in turn; nothing else runs beside it."""
    show("writing files")
    tables = trade_tables(effort.distinct, effort.rows, effort.keys)
    parquet = write_files(folder / "parquet", "parquet", tables, effort.files)
    lines = write_files(folder / "csv", "csv", tables, effort.csv_files)
    frames = write_files(folder / "frame", "parquet", tables, effort.frame_files)
    with local_session() as session:
        of_parquet = _ours(session, sources.parquet(parquet.folder), effort, effort.warm_tuples, parquet, folder, show)
        of_trace = _trace(session, effort, folder, show)
        of_csv = _ours(session, sources.csv(lines.folder), effort, effort.csv_warm_tuples, lines, folder, show)
        frame = sources.dataframe(_frame(session, frames))
        of_frame = _ours(session, frame, effort, effort.frame_warm_tuples, frames, folder, show)
        noop_tuples_s = _noop(session, frames, effort, folder, show)
    system = _with_system_malloc(effort, parquet, folder, show) if effort.with_system_malloc else None
    with local_session(conf=STOCK_CONF) as session:
        stock_tuples_s = _stock(session, frames, effort, folder, show)
    show("the in-process engine over the same tuples")
    equal = {
        "parquet": _totals(of_parquet) == in_process(parquet, of_parquet.tuples),
        "csv": _totals(of_csv) == in_process(lines, of_csv.tuples),
        # Spark's file stream gives rows in another order: as many results, of other windows
        "dataframe": of_frame.results == in_process(frames, of_frame.tuples)[0],
    }
    offline = _arrow_csv(lines, show), stock_tuples_s, _polars(parquet, show)
    return FilesResult(of_parquet, system, of_csv, of_frame, of_trace, noop_tuples_s, *offline, equal)


def application(source: Any) -> Application:
    """vwap_per_ticker with string tickers, into a sink that counts."""
    return vwap_per_ticker("string", "string", source=source, sink=sinks.discard())


def _ours(
    session: Any, source: Any, effort: FilesEffort, warm_tuples: int, files: FileSet, folder: Path, show: Show
) -> FilesRun:
    app, name = application(source), type(source).__name__
    configuration = replace(configuration_of(app), micro_batch_tuples=effort.micro_batch_tuples, block_rows=_BLOCK_ROWS)
    place, total, begin = folder / f"checkpoint-{name}-{time.monotonic_ns()}", files.tuples, time.monotonic()
    with started(session, app, place, configuration) as handle:
        while (taken := _taken(observations_of(handle))) < total and time.monotonic() - begin < effort.limit_s:
            show(f"{name}: {taken:,} of {total:,} tuples")
            handle.wait(0.2)
        memory_mb = resident_mb()
    result, seen = handle.result, list(handle.result.observations)
    results, checksum = result.discarded.get(SINK, (0, 0))
    return FilesRun(
        throughput(_once_warm(seen, warm_tuples)), _taken(seen), results, checksum, result.dead_letter_count, memory_mb
    )


def _trace(session: Any, effort: FilesEffort, folder: Path, show: Show) -> Throughput:
    """The same application over a trace, whose tuples are made where they are used."""
    app = vwap_on(sources.trace("unbounded", keys=effort.keys, ticker="string"), sinks.discard())
    own = replace(configuration_of(app), micro_batch_tuples=effort.micro_batch_tuples, block_rows=_BLOCK_ROWS)
    with started(session, app, folder / "trace", own) as handle:
        watch_for(handle, effort.trace_warm_s, show, "trace of string tickers, warming up", batches=3)
        return throughput(watch_for(handle, effort.trace_s, show, "trace of string tickers"))


def _taken(seen: list[Observation]) -> int:
    return sum(own.tuples_in for own in seen)


def _once_warm(seen: list[Observation], warm_tuples: int) -> list[Observation]:
    """The batches from the one on with which so many tuples have been taken, as long as tuples came."""
    taken, warm = 0, list[Observation]()
    for own in seen:
        taken += own.tuples_in
        if taken >= warm_tuples and own.tuples_in:
            warm.append(own)
    return warm


def _totals(run: FilesRun) -> tuple[int, int]:
    return run.results, run.checksum


def in_process(files: FileSet, tuples: int) -> tuple[int, int]:
    """Count and checksum of the results over the first so many tuples of the files, in one process."""
    graph = application(None).graph
    engine, schema, count, checksum = Engine(graph, block_rows=_BLOCK_ROWS), graph.sources[0].schema, 0, 0
    for table in _prefix(files, tuples):
        for batch in table.to_batches(max_chunksize=_BLOCK_ROWS):
            block = engine.process({SOURCE: block_of(batch, schema)}).get(SINK)
            if block is not None:
                count, checksum = count + block.rows, add_checksums(checksum, checksum_of(block))
    return count, checksum


def _prefix(files: FileSet, tuples: int) -> Iterator[pa.Table]:
    for number in range(files.files):
        table = files.table(number).slice(0, tuples)
        tuples -= table.num_rows
        yield table
        if not tuples:
            return


def _frame(session: Any, files: FileSet) -> Any:
    return session.readStream.schema(FRAME_SQL).option("maxFilesPerTrigger", 8).parquet(str(files.folder))


def _noop(session: Any, files: FileSet, effort: FilesEffort, folder: Path, show: Show) -> float:
    """The same frame into a `mapInArrow` that only counts: what Spark takes to bring rows to Python."""
    ends: list[tuple[float, int]] = []

    def each_batch(frame: Any, batch: int) -> None:
        rows = frame.mapInArrow(_counted, "rows long").toArrow().column("rows").to_pylist()
        ends.append((time.monotonic(), sum(rows)))

    writer = _frame(session, files).writeStream.foreachBatch(each_batch)
    query = writer.option("checkpointLocation", str(folder / "noop")).trigger(processingTime="0 seconds").start()
    begin = time.monotonic()
    try:
        while sum(rows for _, rows in ends) < files.tuples and time.monotonic() - begin < effort.limit_s:
            show(f"no-op mapInArrow: {sum(rows for _, rows in ends):,} of {files.tuples:,} tuples")
            if query.awaitTermination(0.2):
                break
    finally:
        query.stop()
    warm = _behind(ends, effort.frame_warm_tuples)
    return sum(rows for _, rows in warm[1:]) / (warm[-1][0] - warm[0][0]) if len(warm) > 1 else 0.0


def _behind(ends: list[tuple[float, int]], tuples: int) -> list[tuple[float, int]]:
    taken, found = 0, []
    for moment_s, rows in ends:
        taken += rows
        if taken >= tuples:
            found.append((moment_s, rows))
    return found


def _counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"rows": pa.array([rows], pa.int64())})


@contextmanager
def _system_malloc() -> Iterator[None]:
    with environment({"PENSTOCK_MALLOC": "system"}):
        yield


def _with_system_malloc(effort: FilesEffort, files: FileSet, folder: Path, show: Show) -> FilesRun:
    assert MALLOC_DEFAULTS
    with _system_malloc(), local_session() as session:
        return _ours(session, sources.parquet(files.folder), effort, effort.warm_tuples, files, folder, show)


def _stock(session: Any, files: FileSet, effort: FilesEffort, folder: Path, show: Show) -> float | None:
    """Stock PySpark over the same files: applyInPandasWithState, tickers as hashes; None where no batch was done."""
    ends: list[tuple[float, int]] = []
    frame = session.readStream.schema(FRAME_SQL).option("maxFilesPerTrigger", 1).parquet(str(files.folder))
    trades = frame.where("ttype = 'Trade'").selectExpr("seq", "hash(ticker) as ticker", "price", "volume")

    def each_batch(results: Any, batch: int) -> None:
        results.count()
        ends.append((time.monotonic(), files.table(batch).num_rows))

    writer = by_apply_in_pandas_with_state(trades).writeStream.outputMode("append").foreachBatch(each_batch)
    begin = time.monotonic()
    query = writer.option("checkpointLocation", str(folder / "stock")).trigger(processingTime="0 seconds").start()
    try:
        while len(ends) < 2 or ends[-1][0] - ends[0][0] < effort.stock_s:
            show(f"stock applyInPandasWithState: {len(ends)} micro-batches")
            if query.awaitTermination(0.2) or time.monotonic() - begin > effort.limit_s:
                break
    finally:
        query.stop()
    return sum(rows for _, rows in ends[1:]) / (ends[-1][0] - ends[0][0]) if len(ends) > 1 else None


def _polars(files: FileSet, show: Show) -> float:
    """polars over the distinct files at once, on all cores: the best of three."""
    import polars

    show("polars offline")
    paths = [str(files.folder / f"{number:06d}.parquet") for number in range(len(files.tables))]
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        polars_vwap({"quotes": polars.scan_parquet(paths)}).collect()
        seconds.append(time.perf_counter() - begin)
    return float(len(files.tables) * files.table(0).num_rows / min(seconds))


def _arrow_csv(files: FileSet, show: Show) -> float:
    """pyarrow alone over the distinct files, on all cores: the best of three."""
    show("pyarrow.csv")
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        for number in range(len(files.tables)):
            pyarrow.csv.read_csv(files.folder / f"{number:06d}.csv")
        seconds.append(time.perf_counter() - begin)
    return float(len(files.tables) * files.table(0).num_rows / min(seconds))
