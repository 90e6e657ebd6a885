"""The report of `python -m benchmarks files`."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from benchmarks.report import millions, table_of
from benchmarks.spark.files.files import FilesEffort, FilesResult, FilesRun


def files_figures(result: FilesResult, effort: FilesEffort) -> dict[str, Any]:
    """The JSON object; what was not measured is null."""
    rate, frame, system = result.parquet.rate.tuples_s, result.frame.rate.tuples_s, result.parquet_system
    return {
        "bench": "files",
        "parquet_tuples_s": round(rate),
        "dataframe_tuples_s": round(frame),
        "dataframe_noop_tuples_s": round(result.noop_tuples_s),
        "csv_tuples_s": round(result.csv.rate.tuples_s),
        "trace_tuples_s": round(result.trace.tuples_s),
        "ratio_to_trace": _ratio(rate, result.trace.tuples_s),
        "ratio_to_stock": _ratio(rate, result.stock_tuples_s),
        "ratio_to_polars_offline": _ratio(rate, result.polars_tuples_s),
        "equal": all(result.equal.values()),
        "equal_by_kind": result.equal,
        "ratio_dataframe_to_noop": _ratio(frame, result.noop_tuples_s),
        "stock_tuples_s": None if result.stock_tuples_s is None else round(result.stock_tuples_s),
        "polars_offline_tuples_s": round(result.polars_tuples_s),
        "arrow_csv_tuples_s": round(result.arrow_csv_tuples_s),
        "resident_mb": round(result.parquet.memory_mb),
        "resident_mb_system_malloc": None if system is None else round(system.memory_mb),
        "parquet_tuples_s_system_malloc": None if system is None else round(system.rate.tuples_s),
        "dead_letters": sum(run.dead_letters for run in (result.parquet, result.csv, result.frame)),
        "measured_tuples": result.parquet.rate.tuples,
        "micro_batch_tuples": effort.micro_batch_tuples,
        "rows_per_file": effort.rows,
        "keys": effort.keys,
    }


def files_tables(result: FilesResult) -> list[Table]:
    ours = table_of(
        "vwap_per_ticker with string tickers, once warm", "source", "M tuples/s", "lowest-highest", "s",
        "micro-batches", "resident MB", "equal",
    )  # fmt: skip
    for name, run, equal in (
        ("Parquet files", result.parquet, result.equal["parquet"]),
        ("Parquet files, system malloc", result.parquet_system, None),
        ("CSV files", result.csv, result.equal["csv"]),
        ("DataFrame of Parquet files", result.frame, result.equal["dataframe"]),
    ):
        if run is not None:
            ours.add_row(*_row(name, run, equal))
    beside = table_of("Beside them", "what", "M tuples/s")
    beside.add_row("trace of string tickers", millions(result.trace.tuples_s))
    beside.add_row("no-op mapInArrow over the same DataFrame", millions(result.noop_tuples_s))
    beside.add_row("stock PySpark, applyInPandasWithState", millions(result.stock_tuples_s or 0.0))
    beside.add_row("polars offline, all cores", millions(result.polars_tuples_s))
    beside.add_row("pyarrow.csv alone, all cores", millions(result.arrow_csv_tuples_s))
    return [ours, beside]


def files_notes(figures: dict[str, Any]) -> list[str]:
    return [
        f"Parquet: {figures['ratio_to_trace']} of a trace with text, {figures['ratio_to_stock']} x stock PySpark, "
        f"{figures['ratio_to_polars_offline']} x polars offline; "
        f"DataFrame: {figures['ratio_dataframe_to_noop']} of the no-op.",
        "Equal: count and checksum of the in-process engine's results over the same tuples; of the DataFrame the "
        "count, since Spark gives its rows in another order.",
    ]


def _row(name: str, run: FilesRun, equal: bool | None) -> list[str]:
    spread = run.rate.spread
    return [
        name, millions(run.rate.tuples_s), f"{millions(spread.lowest)}-{millions(spread.highest)}",
        f"{run.rate.seconds:.1f}", str(run.rate.batches), f"{run.memory_mb:.0f}",
        "" if equal is None else "yes" if equal else "NO",
    ]  # fmt: skip


def _ratio(ours: float, other: float | None) -> float | None:
    return round(ours / other, 2) if other else None
