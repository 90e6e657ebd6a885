"""The report of `python -m benchmarks vwap`."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from benchmarks.report import millions, table_of
from benchmarks.spark.batches import Spread
from benchmarks.spark.vwap.stock import WAYS
from benchmarks.spark.vwap.vwap import Checked, StockResult, VwapEffort, VwapResult, best_stock

_GOALS = {"tuples_s": 10e6, "tuples_s_strings": 4e6, "ratio_to_best_stock_state": 50.0, "p95_ms_at_half_rate": 1000.0}


def vwap_figures(result: VwapResult, effort: VwapEffort) -> dict[str, Any]:
    """The JSON object; ratios to stock PySpark are null where none of its ways finished with equal results."""
    coded, state, any_way = result.coded, best_stock(result.stock), best_stock(result.stock, WAYS)
    rate = coded.ours.rate.tuples_s
    runs = {"int32": coded, "symbol": result.symbols, "string": result.strings, "parquet": result.parquet}
    return {
        "bench": "vwap",
        "tuples_s": round(rate),
        "tuples_s_symbols": round(result.symbols.ours.rate.tuples_s),
        "tuples_s_strings": round(result.strings.ours.rate.tuples_s),
        "tuples_s_parquet": round(result.parquet.ours.rate.tuples_s),
        "tuples_s_inprocess": round(coded.in_process.tuples_s),
        "checksum_equal": all(run.is_equal for run in runs.values()),
        "stock_equal": _all_equal([r.is_equal for r in result.stock if r.is_equal is not None]),
        "ratio_to_best_stock_state": _ratio(rate, None if state is None else state.tuples_s),
        "ratio_to_best_stock": _ratio(rate, None if any_way is None else any_way.tuples_s),
        "ratio_to_inprocess": _ratio(rate, coded.in_process.tuples_s),
        "p95_ms_at_half_rate": round(result.half.late.quantile_ms(0.95), 1),
        "p50_ms_at_half_rate": round(result.half.late.quantile_ms(0.5), 1),
        "half_rate_tuples_s": round(result.half.offered_tuples_s),
        "half_rate_keeps_up": result.half.keeps_up,
        "half_rate_micro_batch_ms": Spread.of(result.half.batches_ms).to_json(),
        "measuring_cpu_ratio": coded.ours.measuring_ratio,
        "sustained_s": round(coded.ours.rate.seconds, 1),
        "spread_tuples_s": {name: run.ours.rate.spread.to_json() for name, run in runs.items()},
        "micro_batch_tuples": coded.ours.configuration.micro_batch_tuples,
        "block_rows": coded.ours.configuration.block_rows,
        "tried": [_trial(run) for run in coded.ours.trials],
        "stock": [_stock_json(r) for r in result.stock],
        "keys": effort.keys,
        "seed": 7,
    }


def vwap_tables(result: VwapResult) -> list[Table]:
    ours = table_of(
        "M tuples/s over the whole time (lowest-highest of six pieces); in-process: one thread over the same offsets",
        "vwap_per_ticker", "M tuples/s", "spread", "s", "micro-batches", "in-process", "checksum",
    )  # fmt: skip
    names = ("int32 tickers", "dictionary-coded tickers", "plain strings", "int32, Parquet files")
    for name, run in zip(names, (result.coded, result.symbols, result.strings, result.parquet), strict=True):
        ours.add_row(*_run_row(name, run))
    return [ours, _trials_table(result), _stock_table(result)]


def vwap_notes(result: VwapResult, figures: dict[str, Any]) -> list[str]:
    half, p95 = result.half, figures["p95_ms_at_half_rate"]
    spread, pace = Spread.of(half.batches_ms), "kept up" if half.keeps_up else "fell behind"
    notes = [
        f"at half of that rate, {half.offered_tuples_s:,.0f} tuples/s, it {pace}: "
        f"latency p50 {figures['p50_ms_at_half_rate']:,.0f} ms, p95 {p95:,.0f} ms; a micro-batch took "
        f"{spread.median:,.0f} ms ({spread.lowest:,.0f}-{spread.highest:,.0f})",
        f"ratio to the best stateful stock variant: {_text(figures['ratio_to_best_stock_state'])}; to the best of all: "
        f"{_text(figures['ratio_to_best_stock'])}; to the in-process engine on one thread: "
        f"{_text(figures['ratio_to_inprocess'])}",
    ]
    if figures["measuring_cpu_ratio"] is not None:
        notes.append(f"CPU of measuring to all CPU: {figures['measuring_cpu_ratio']:.4f}")
    return [*notes, "goals: " + ", ".join(_goal(name, figures[name]) for name in _GOALS)]


def _goal(name: str, value: float | None) -> str:
    if value is None:
        return f"{name}: not measured"
    reached = value <= _GOALS[name] if name.startswith("p95") else value >= _GOALS[name]
    return f"{name} {value:,} against {_GOALS[name]:,.0f}: {'reached' if reached else 'missed'}"


def _run_row(name: str, run: Checked) -> tuple[str, ...]:
    rate = run.ours.rate
    spread = f"{millions(rate.spread.lowest)}-{millions(rate.spread.highest)}"
    times = f"{rate.seconds:.0f}", f"{rate.batches}"
    equal = "equal" if run.is_equal else "DIFFERS"
    return name, millions(rate.tuples_s), spread, *times, millions(run.in_process.tuples_s), equal


def _trials_table(result: VwapResult) -> Table:
    table = table_of(
        "Configurations tried, all in one running query", "micro-batch cap", "block rows", "M tuples/s", ""
    )
    for trial in result.coded.ours.trials:
        own = trial.configuration
        chosen = "chosen" if own == result.coded.ours.configuration else ""
        sizes = f"{own.micro_batch_tuples:,}", f"{own.block_rows:,}"
        table.add_row(*sizes, millions(trial.rate.tuples_s), chosen)
    return table


def _stock_table(result: VwapResult) -> Table:
    table = table_of(
        "stock PySpark, same session settings; cold: only the first micro-batch was done in time",
        "stock PySpark", "tuples a batch", "M tuples/s", "batches", "s", "results", "",
    )  # fmt: skip
    for own in result.stock:
        table.add_row(*_stock_row(own))
    return table


def _stock_row(own: StockResult) -> tuple[str, ...]:
    if own.cell is None:
        return own.way, f"{own.batch_tuples:,}", "-", "-", "-", "-", own.because
    cell = own.cell
    if cell.tuples_s is None:
        below = f"below {millions(cell.batch_tuples / cell.limit_s)}"
        return own.way, f"{own.batch_tuples:,}", below, "0", f"{cell.limit_s:.0f}", "-", "not one batch in time"
    equal = "equal" if own.is_equal else "DIFFERENT"
    seconds = f"{cell.ends_s[-1]:.1f}"
    return (own.way, f"{own.batch_tuples:,}", millions(cell.tuples_s), f"{len(cell.ends_s)}", seconds, equal,
            "cold" if cell.is_cold else "")  # fmt: skip


def _stock_json(own: StockResult) -> dict[str, Any]:
    if own.cell is None:
        return {"way": own.way, "batch_tuples": own.batch_tuples, "tuples_s": None, "because": own.because}
    return {**own.cell.to_json(), "equal": own.is_equal}


def _trial(trial: Any) -> dict[str, Any]:
    own = trial.configuration
    sizes = {"micro_batch_tuples": own.micro_batch_tuples, "block_rows": own.block_rows}
    return {**sizes, "tuples_s": round(trial.rate.tuples_s)}


def _all_equal(found: list[bool]) -> bool | None:
    """None where nothing was compared."""
    return all(found) if found else None


def _ratio(rate: float, other: float | None) -> float | None:
    return None if not other else round(rate / other, 3)


def _text(ratio: float | None) -> str:
    return "not measured" if ratio is None else f"{ratio:,.2f}"
