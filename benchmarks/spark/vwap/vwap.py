"""Benchmark `vwap`: our engine, the in-process engine and stock PySpark at the same computation in one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.report import Show
from benchmarks.spark.applications import vwap_on
from benchmarks.spark.in_process import InProcess, parquet_totals, result_blocks, run_in_process
from benchmarks.spark.sustained import AtRate, Sizes, Sustained, at_rate, sustain
from benchmarks.spark.vwap.stock import STATEFUL, STOCK_CONF, WAYS, Budget, Cell, run_cell, why_not
from benchmarks.spark.vwap.stock_tuples import sums_of_blocks
from penstock import sinks, sources
from penstock.connectors.trace.source import TraceSource
from penstock.connectors.trace.trades import TickerType
from penstock.errors import InputError
from penstock.plan.configuration import Configuration
from penstock.testing import local_session

_M = 1 << 20
_SIZES = Sizes((4 * _M, 8 * _M, 16 * _M, 32 * _M), (16_384, 32_768, 65_536, 131_072))
_BUDGET = Budget(measure_s=15.0, limit_s=200.0)


@dataclass(frozen=True, slots=True)
class VwapEffort:
    """How long to measure what; seconds."""

    sizes: Sizes = _SIZES
    warm_s: float = 10.0
    trial_s: float = 6.0
    sustain_s: float = 60.0
    string_s: float = 30.0
    parquet_s: float = 15.0
    half_rate_s: float = 40.0
    half_rate_warm_s: float = 20.0
    stock_sizes: tuple[int, ...] = (100_000, 500_000, 2_000_000, 8_000_000)
    stock_budget: Budget = _BUDGET
    ways: tuple[str, ...] = WAYS
    keys: int = 2836

    def with_stock(self, ways: Sequence[str], sizes: tuple[int, ...], limit_s: float | None) -> VwapEffort:
        """The same with the ways of stock PySpark that begin so, in these micro-batches, for so long at most."""
        chosen = tuple(own for own in WAYS if not ways or own.startswith(tuple(ways)))
        if not chosen:
            raise InputError(f"--way is one of {', '.join(WAYS)}, or how one begins; got {', '.join(ways)}")
        budget = self.stock_budget if limit_s is None else replace(self.stock_budget, limit_s=limit_s)
        return replace(self, ways=chosen, stock_sizes=sizes or self.stock_sizes, stock_budget=budget)


QUICK = VwapEffort(
    sizes=Sizes((4 * _M, 16 * _M), (32_768, 131_072)), warm_s=3.0, trial_s=2.0, sustain_s=10.0, string_s=6.0,
    parquet_s=4.0, half_rate_s=10.0, half_rate_warm_s=6.0, stock_sizes=(100_000, 1_000_000),
    stock_budget=Budget(measure_s=2.0, limit_s=12.0),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checked:
    """A run of ours beside the in-process engine over exactly the same offsets."""

    ours: Sustained
    in_process: InProcess

    @property
    def is_equal(self) -> bool:
        return (self.ours.results, self.ours.checksum) == (self.in_process.results, self.in_process.checksum)


@dataclass(frozen=True, slots=True)
class StockResult:
    """A cell of stock PySpark and whether its results were equal; or why it could not run."""

    way: str
    batch_tuples: int
    cell: Cell | None
    is_equal: bool | None
    because: str = ""


@dataclass(frozen=True, slots=True)
class VwapResult:
    """Everything that one run of the bench measured."""

    coded: Checked
    symbols: Checked
    strings: Checked
    parquet: Checked
    half: AtRate
    stock: tuple[StockResult, ...]


def run_vwap(effort: VwapEffort, folder: Path, show: Show) -> VwapResult:
    """Ours first, then stock PySpark in a session of its own; nothing else runs beside either."""
    with local_session() as session:
        coded = _discarded(session, effort, "int32", effort.sizes, effort.sustain_s, folder / "int32", show)
        found = _only(coded.ours.configuration)
        symbols = _discarded(session, effort, "symbol", found, effort.string_s, folder / "symbol", show)
        strings = _discarded(session, effort, "string", found, effort.string_s, folder / "string", show)
        parquet = _written(session, effort, found, folder, show)
        half = _half_rate(session, effort, coded.ours, folder / "half", show)
    with local_session(conf=STOCK_CONF) as session:
        stock = tuple(_stock(session, effort, folder / "stock", show))
    return VwapResult(coded, symbols, strings, parquet, half, stock)


def _trace(effort: VwapEffort, ticker: TickerType) -> TraceSource:
    return sources.trace(rate="unbounded", keys=effort.keys, ticker=ticker)


def _only(configuration: Configuration) -> Sizes:
    """Sizes that leave nothing to try."""
    return Sizes((configuration.micro_batch_tuples,), (configuration.block_rows,))


def _discarded(
    session: Any, effort: VwapEffort, ticker: TickerType, sizes: Sizes, seconds: float, folder: Path, show: Show
) -> Checked:
    app = vwap_on(_trace(effort, ticker), sinks.discard())

    def shown(text: str) -> None:
        show(f"ours, {ticker} tickers: {text}")

    ours = sustain(session, app, folder, sizes, effort.trial_s, seconds, shown, warm_s=effort.warm_s)
    show(f"in-process engine over the same {ours.tuples:,} tuples")
    return Checked(ours, run_in_process(app, ours.tuples, ours.configuration.block_rows))


def _written(session: Any, effort: VwapEffort, sizes: Sizes, folder: Path, show: Show) -> Checked:
    """The same into Parquet files, which are read back."""
    trace = _trace(effort, "int32")
    app = vwap_on(trace, sinks.parquet(str(folder / "files")))

    def shown(text: str) -> None:
        show(f"ours, Parquet: {text}")

    ours = sustain(session, app, folder / "parquet", sizes, effort.trial_s, effort.parquet_s, shown)
    show("reading the Parquet files back")
    count, checksum = parquet_totals(folder / "files", app.graph.sinks[0].schema, ours.last_batch)
    expected = run_in_process(vwap_on(trace, sinks.discard()), ours.tuples, ours.configuration.block_rows)
    return Checked(replace(ours, results=count, checksum=checksum), expected)


def _half_rate(session: Any, effort: VwapEffort, found: Sustained, folder: Path, show: Show) -> AtRate:
    """Latency at half of the sustained rate: micro-batches take what has come, in blocks that spread over the tasks."""
    rate_tuples_s = max(found.rate.tuples_s / 2, 1.0)
    trace = sources.trace("constant", rate_tuples_s, keys=effort.keys, ticker="int32")
    app = vwap_on(trace, sinks.discard())
    return at_rate(session, app, folder, found.configuration, effort.half_rate_warm_s, effort.half_rate_s, show)


def _stock(session: Any, effort: VwapEffort, folder: Path, show: Show) -> Iterator[StockResult]:
    trace = _trace(effort, "int32")
    app = vwap_on(trace, sinks.discard())
    for way in effort.ways:
        because = why_not(way)
        for number, size in enumerate(effort.stock_sizes):
            if because:
                yield StockResult(way, size, None, None, because)
                continue
            place = folder / f"{effort.ways.index(way)}-{number}"
            cell = run_cell(session, trace, way, size, effort.stock_budget, place, show)
            show(f"stock {way}: checking {cell.sums.results:,} results")
            expected = sums_of_blocks(result_blocks(app, cell.tuples, 32_768))
            yield StockResult(way, size, cell, cell.sums.equals(expected) if cell.tuples else None)


def best_stock(results: tuple[StockResult, ...], ways: tuple[str, ...] = tuple(STATEFUL)) -> Cell | None:
    """The fastest cell of some ways whose results were equal."""
    cells = [r.cell for r in results if r.cell is not None and r.is_equal and r.way in ways]
    return max(cells, key=lambda cell: cell.tuples_s or 0.0, default=None)
