"""penstock demo: prices per ticker over a generated trading day."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from penstock.cli.screen import console, progress_bar, rate, show_table, size
from penstock.element.writers import write_table
from penstock.errors import InputError

SEED = 7
CHARTED = 3
SHOWN = 10
_PIECE_ROWS = 262_144
_BLOCK_ROWS = 32_768


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the run gave: results in order, and for each piece the tuples done by then and the seconds it took."""

    results: pa.Table
    tuples_done: np.ndarray[tuple[int], np.dtype[np.int64]]
    piece_s: np.ndarray[tuple[int], np.dtype[np.float64]]
    compile_s: float
    state_bytes: int

    @property
    def seconds(self) -> float:
        return float(self.piece_s.sum())


def demo_command(rows: int, output: Path) -> None:
    """Generates, computes, shows, draws."""
    problems = [f"--rows is at least 100; got {rows}"] if rows < 100 else []
    if output.exists() and not output.is_dir():
        problems.append(f"--output is a directory; got {output}, which is a file")
    if problems:
        raise InputError("\n".join(problems))
    screen = console()
    begin = time.perf_counter()
    quotes = _generated(rows)
    screen.print(f"generated {rows:,} trades and quotes in {time.perf_counter() - begin:.1f} s")
    outcome = compute(quotes)
    trades = outcome.results.num_rows
    screen.print(
        f"vwap_per_ticker: {rows:,} tuples in, {trades:,} out, {outcome.seconds:.2f} s, {rate(rows, outcome.seconds)} "
        f"on one thread; state {size(outcome.state_bytes)}; kernels were ready in {outcome.compile_s:.1f} s before that"
    )
    show_table(screen, f"the {SHOWN} most traded tickers, at the end of the day", _table(outcome.results))
    table = write_table(outcome.results, output, "vwap_per_ticker", "parquet")
    pictures = (output / "vwap_per_ticker.png", output / "vwap_per_ticker.svg")
    draw(quotes, outcome, pictures)
    for path in (table, *pictures):
        screen.print(f"wrote {path}", markup=False, soft_wrap=True)


def compute(quotes: pa.Table) -> Outcome:
    """Runs the application piece by piece; kernels are compiled (or read from the cache) before the clock starts."""
    from penstock.apps.vwap import vwap_per_ticker
    from penstock.element.engine import Engine

    graph = vwap_per_ticker().graph
    begin = time.perf_counter()
    Engine(graph, block_rows=_BLOCK_ROWS).feed({"quotes": quotes.slice(0, 1000)})
    compile_s = time.perf_counter() - begin
    engine = Engine(graph, block_rows=_BLOCK_ROWS)
    batches, done, seconds = [], [], []
    with progress_bar("vwap_per_ticker") as advance:
        for start in range(0, quotes.num_rows, _PIECE_ROWS):
            begin = time.perf_counter()
            batches += engine.feed({"quotes": quotes.slice(start, _PIECE_ROWS)})["out"]
            seconds.append(time.perf_counter() - begin)
            done.append(min(start + _PIECE_ROWS, quotes.num_rows))
            advance(done[-1], quotes.num_rows)
        batches += engine.finish()["out"]
    results = pa.Table.from_batches(batches, graph.operator("out").schema).unify_dictionaries()
    return Outcome(results, np.array(done), np.array(seconds), compile_s, sum(engine.state_bytes.values()))


def draw(quotes: pa.Table, outcome: Outcome, paths: tuple[Path, ...]) -> None:
    """The picture of the most traded tickers; each trade gave one result, in order."""
    from penstock.watch.price_chart import PriceSeries, Run, save_prices

    results = outcome.results
    sequence = quotes.filter(pc.equal(quotes.column("ttype").cast(pa.string()), "Trade")).column("seq").to_numpy()
    codes, names, counts = _tickers(results)
    columns = {name: results.column(name).to_numpy() for name in ("low", "high", "vwap")}
    series = []
    for code in np.argsort(-counts, kind="stable")[:CHARTED]:
        own = np.flatnonzero(codes == code)
        low, high, vwap = (columns[name][own] for name in ("low", "high", "vwap"))
        series.append(PriceSeries(names[code].as_py(), sequence[own].astype(np.float64), low, high, vwap))
    pieces = np.diff(outcome.tuples_done, prepend=0)
    title = f"vwap_per_ticker: {quotes.num_rows:,} trades and quotes in {outcome.seconds:.2f} s"
    ranks = np.sort(counts[counts > 0])[::-1].astype(np.float64)
    run = Run(title, outcome.tuples_done.astype(np.float64), pieces / outcome.piece_s, ranks)
    save_prices(series, run, paths)


def _generated(rows: int) -> pa.Table:
    from penstock.generate import trades

    with console().status("generating trades and quotes"):
        return trades(rows, seed=SEED)


def _tickers(results: pa.Table) -> tuple[np.ndarray, pa.Array, np.ndarray]:
    """A code per result, the name of each code, and how many results each has."""
    column = results.column("ticker").combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    codes = column.indices.to_numpy()
    return codes, column.dictionary, np.bincount(codes, minlength=len(column.dictionary))


def _table(results: pa.Table) -> Table:
    """The newest result of the most traded tickers."""
    codes, names, counts = _tickers(results)
    newest = np.zeros(len(names), np.int64)
    newest[codes] = np.arange(len(codes))
    shown = Table()
    for column in ("ticker", "trades", "n", "low", "high", "mean", "volume", "vwap"):
        shown.add_column(column, justify="left" if column == "ticker" else "right")
    for code in np.argsort(-counts, kind="stable")[:SHOWN]:
        row = results.slice(int(newest[code]), 1).to_pylist()[0]
        prices = (f"{row[name]:,.2f}" for name in ("low", "high", "mean"))
        shown.add_row(
            names[code].as_py(),
            f"{counts[code]:,}",
            str(row["n"]),
            *prices,
            f"{row['volume']:,.0f}",
            f"{row['vwap']:,.4f}",
        )
    return shown
