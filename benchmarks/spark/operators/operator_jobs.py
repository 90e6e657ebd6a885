"""Benchmark `operators`: each job on Spark by us and by stock PySpark, and in one process, over the same files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet

from benchmarks.report import Show
from benchmarks.spark.applications import SINK
from benchmarks.spark.batches import Throughput, throughput
from benchmarks.spark.operators.fed_engine import Fed, run_fed
from benchmarks.spark.operators.operator_cases import CASES, OperatorCase, Tally, application, sink_of
from benchmarks.spark.operators.operator_files import (
    CLOSING_ROWS,
    FRAME_SQL,
    LATE,
    VENUES,
    OperatorFiles,
    write_operator_files,
)
from benchmarks.spark.operators.stock_ways import StockSink, counted
from benchmarks.spark.sustained import configuration_of
from benchmarks.spark.vwap.stock import STOCK_CONF
from benchmarks.spark.watching import observations_of, started
from penstock.measure.observation import Observation
from penstock.testing import local_session

CORES = 2
_BLOCK_ROWS = 131_072
_FEW = 2 * CLOSING_ROWS


@dataclass(frozen=True, slots=True)
class OperatorsEffort:
    """Files of each case, of `rows` each, in about so many micro-batches; the first `warm_ratio` of tuples warms up."""

    rows: int = 250_000
    files: int = 96
    slow_files: int = 24
    micro_batches: int = 12
    warm_ratio: float = 0.25
    stock_s: float = 30.0
    limit_s: float = 240.0
    keys: int = 2836
    cases: tuple[OperatorCase, ...] = CASES

    def files_of(self, case: OperatorCase) -> int:
        """Of each venue."""
        return max(1, (self.slow_files if case.is_slow else self.files) // len(case.venues))

    def tuples_of(self, case: OperatorCase) -> int:
        return (self.files_of(case) * self.rows + CLOSING_ROWS) * len(case.venues)

    def batch_files(self, case: OperatorCase) -> int:
        return max(1, self.files_of(case) // self.micro_batches)


QUICK = OperatorsEffort(rows=100_000, files=48, slow_files=12, micro_batches=8, stock_s=8.0, limit_s=60.0)


@dataclass(frozen=True, slots=True)
class Ours:
    """A run of ours: its rate once warm, what came out in all, and nanoseconds of CPU a tuple by who used them."""

    rate: Throughput
    tuples: int
    results: int
    checksum: int | None  # of a sink that makes one
    dead_letters: int
    cpu_ns: dict[str, float]


@dataclass(frozen=True, slots=True)
class StockRun:
    """A run of stock PySpark: tuples and seconds of its micro-batches but the first, and its results where all came."""

    tuples: int
    seconds: float
    results: int | None

    @property
    def tuples_s(self) -> float | None:
        return self.tuples / self.seconds if self.seconds > 0 else None


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One job, three ways."""

    case: OperatorCase
    ours: Ours
    stock: StockRun
    fed: Fed

    @property
    def is_equal(self) -> bool:
        """Whether ours equals the in-process engine: results, dead letters, and the checksum where there is one."""
        same = (self.ours.results, self.ours.dead_letters) == (self.fed.results, self.fed.dead_letters)
        return same and self.ours.checksum in (None, self.fed.checksum)

    @property
    def is_stock_equal(self) -> bool | None:
        """Whether stock PySpark has as many results; None where its time was over before."""
        expected = self.fed.results - self.fed.closing_results
        return None if self.stock.results is None else self.stock.results == expected


def run_operators(effort: OperatorsEffort, folder: Path, show: Show) -> list[OperatorRow]:
    """All of ours in one session, then stock PySpark in another, then the in-process engine; nothing runs beside."""
    show("writing files")
    files = write_operator_files(folder / "files", effort.rows, _files_of_venues(effort), effort.keys)
    with local_session(CORES) as session:
        ours = [_ours(session, case, effort, files, folder / f"ours-{n}", show) for n, case in enumerate(effort.cases)]
    with local_session(CORES, conf=STOCK_CONF) as session:
        stock = [_stock(session, case, effort, folder, n, show) for n, case in enumerate(effort.cases)]
    fed = []
    for number, case in enumerate(effort.cases):
        show(f"{case.name}: the in-process engine")
        fed.append(run_fed(case, _folders(case, folder / f"ours-{number}"), folder / f"fed-{number}", _BLOCK_ROWS))
    return [OperatorRow(*own) for own in zip(effort.cases, ours, stock, fed, strict=True)]


def _files_of_venues(effort: OperatorsEffort) -> dict[str, int]:
    needed = dict.fromkeys((*VENUES, LATE), 0)
    for case in effort.cases:
        needed |= {venue: max(needed[venue], effort.files_of(case)) for venue in case.venues}
    return needed


def _folders(case: OperatorCase, folder: Path) -> list[Path]:
    return [folder / venue for venue in case.venues]


def _ours(
    session: Any, case: OperatorCase, effort: OperatorsEffort, files: OperatorFiles, folder: Path, show: Show
) -> Ours:
    count, tally = effort.files_of(case), Tally()
    folders = [files.links(venue, count, folder / venue) for venue in case.venues]
    app = application(case, folders, sink_of(case, folder / "out", tally))
    most = effort.batch_files(case) * effort.rows * len(case.venues)
    configuration = replace(configuration_of(app), micro_batch_tuples=most, block_rows=_BLOCK_ROWS)
    total, begin = effort.tuples_of(case), time.monotonic()
    with started(session, app, folder / "checkpoint", configuration) as handle:
        while (taken := _taken(observations_of(handle))) < total and time.monotonic() - begin < effort.limit_s:
            show(f"{case.name}: {taken:,} of {total:,} tuples")
            if handle.wait(0.1):
                break
    seen, result = list(handle.result.observations), handle.result
    warm = _once_warm(seen, effort.warm_ratio * total)
    results, checksum = _results(case, result.discarded.get(SINK), tally, folder / "out")
    return Ours(throughput(warm), _taken(seen), results, checksum, result.dead_letter_count, cpu_ns(warm))


def _results(
    case: OperatorCase, discarded: tuple[int, int] | None, tally: Tally, out: Path
) -> tuple[int, int | None]:  # fmt: skip
    if case.sink == "discard":
        return discarded or (0, 0)
    if case.sink == "parquet":
        return sum(pyarrow.parquet.read_metadata(path).num_rows for path in out.rglob("*.parquet")), None
    return tally.rows, None


def _taken(seen: Sequence[Observation]) -> int:
    return sum(own.tuples_in for own in seen)


def _once_warm(seen: Sequence[Observation], tuples: float) -> list[Observation]:
    """The batches from the one on with which so many tuples have been taken, but for those of closing rows alone."""
    taken, warm = 0, list[Observation]()
    for own in seen:
        taken += own.tuples_in
        if taken >= tuples and own.tuples_in > _FEW:
            warm.append(own)
    return warm


def cpu_ns(seen: Sequence[Observation]) -> dict[str, float]:
    """Nanoseconds of CPU a tuple, but for the first batch: its CPU is that since the commit before."""
    known = [(own.tuples_in, own.cpu) for own in seen[1:] if own.cpu is not None]
    tuples = sum(count for count, _ in known)
    if not tuples:
        return {}
    parts = {
        "operators": sum(cpu.operators_s for _, cpu in known),
        "element": sum(cpu.element_s for _, cpu in known),
        "worker_loop": sum(cpu.worker_loop_s for _, cpu in known),
        "driver": sum(cpu.driver_s for _, cpu in known),
        "jvm": sum(cpu.jvm_s or 0.0 for _, cpu in known),
    }
    return {name: seconds * 1e9 / tuples for name, seconds in parts.items()}


def _stock(
    session: Any, case: OperatorCase, effort: OperatorsEffort, folder: Path, number: int, show: Show
) -> StockRun:  # fmt: skip
    """Until all files are read and, of windows, the micro-batch without tuples is done, or its time is over."""
    reader = session.readStream.schema(FRAME_SQL).option("maxFilesPerTrigger", effort.batch_files(case))
    frames = [reader.parquet(str(own)) for own in _folders(case, folder / f"ours-{number}")]
    sink, total = StockSink(folder / f"stock-{number}"), effort.tuples_of(case)
    results = case.stock(frames)
    calls_function = case.sink not in ("discard", "parquet")
    query, begin = sink.begin(results if calls_function else counted(results), case.sink), time.monotonic()
    first: float | None = None  # when the first micro-batch was done, which warms up
    try:
        while not _is_done(query, case, total):
            show(f"stock PySpark, {case.name}: {_read(query.recentProgress):,} of {total:,} tuples")
            now = time.monotonic()
            first = now if first is None and _read(query.recentProgress) else first
            is_late = now - begin > effort.limit_s or (first is not None and now - first > effort.stock_s)
            if query.awaitTermination(0.2) or is_late:
                break
        done, seen = _is_done(query, case, total), list(query.recentProgress)
    finally:
        query.stop()
    return stock_run(seen, sink.rows if calls_function else None, is_whole=done)


def _read(progress: Sequence[Any]) -> int:
    return sum(own.numInputRows for own in progress)


def _is_done(query: Any, case: OperatorCase, total: int) -> bool:
    progress = query.recentProgress
    if _read(progress) < total:
        return False
    return not case.has_event_time or progress[-1].numInputRows == 0 or not query.status["isTriggerActive"]


def stock_run(progress: Sequence[Any], rows: int | None, *, is_whole: bool) -> StockRun:
    """The first micro-batch warms up, and that of closing rows has no tuples worth a rate."""
    measured = [own for own in progress[1:] if own.numInputRows > _FEW]
    seconds = sum(own.durationMs["triggerExecution"] for own in measured) / 1000
    found = rows if rows is not None else sum(_results_of(own) for own in progress)
    return StockRun(_read(measured), seconds, found if is_whole else None)


def _results_of(progress: Any) -> int:
    metrics = progress.observedMetrics.get("out")
    return 0 if metrics is None else int(metrics["n"])
