"""The report of `python -m benchmarks operators`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table

from benchmarks.report import millions, table_of, verdict
from benchmarks.spark.operators.operator_files import LATE
from benchmarks.spark.operators.operator_jobs import CORES, OperatorRow, OperatorsEffort

STOCK_GOAL = 3.0
IN_PROCESS_GOAL = 0.3
LETTERS_GOAL = 1e6  # a second


def operators_figures(rows: Sequence[OperatorRow], effort: OperatorsEffort) -> dict[str, Any]:
    """The JSON object; what was not measured is null."""
    of_rows = [row_figures(row) for row in rows]
    return {
        "bench": "operators",
        "rows": of_rows,
        "equal": all(own["equal"] for own in of_rows),
        "lowest_ratio_to_stock": _lowest(of_rows, "ratio_to_stock"),
        "lowest_ratio_to_inprocess_per_core": _lowest(of_rows, "ratio_to_inprocess_per_core"),
        "dead_letters_s": next((own["dead_letters_s"] for own in of_rows if own["dead_letters_s"] is not None), None),
        "goals_missed": [missed for own in of_rows for missed in missed_goals(own)],
        "rows_per_file": effort.rows,
        "keys": effort.keys,
        "cores": CORES,
    }


def row_figures(row: OperatorRow) -> dict[str, Any]:
    """One job's figures; `dead_letters_s` is of the job that makes them."""
    ours, stock, fed = row.ours, row.stock, row.fed
    late_ratio = ours.dead_letters / ours.tuples if LATE in row.case.venues and ours.tuples else None
    return {
        "name": row.case.name,
        "tuples_s": round(ours.rate.tuples_s),
        "spread_tuples_s": ours.rate.spread.to_json(),
        "stock_way": row.case.way,
        "stock_tuples_s": None if stock.tuples_s is None else round(stock.tuples_s),
        "inprocess_tuples_s": round(fed.tuples_s),
        "ratio_to_stock": None if not stock.tuples_s else round(ours.rate.tuples_s / stock.tuples_s, 3),
        "ratio_to_inprocess_per_core": round(ours.rate.tuples_s / CORES / fed.tuples_s, 3) if fed.tuples_s else None,
        "equal": row.is_equal,
        "stock_equal": row.is_stock_equal,
        "results": ours.results,
        "dead_letters": ours.dead_letters,
        "dead_letters_s": None if late_ratio is None else round(ours.rate.tuples_s * late_ratio),
        "cpu_ns_per_tuple": {name: round(value) for name, value in ours.cpu_ns.items()},
        "measured_tuples": ours.rate.tuples,
        "measured_s": round(ours.rate.seconds, 2),
    }


def missed_goals(figures: dict[str, Any]) -> Iterator[str]:
    """What a row is below, one sentence each."""
    name, letters_s = figures["name"], figures["dead_letters_s"]
    if not figures["equal"]:
        yield f"{name}: results differ from the in-process engine's"
    for key, goal, words in (
        ("ratio_to_stock", STOCK_GOAL, "x stock PySpark"),
        ("ratio_to_inprocess_per_core", IN_PROCESS_GOAL, "of the in-process engine per core"),
    ):
        if figures[key] is not None and figures[key] < goal:
            yield f"{name}: {figures[key]:g} {words}, below {goal:g}"
    if letters_s is not None and letters_s < LETTERS_GOAL:
        yield f"{name}: {letters_s:,} dead letters/s, below {LETTERS_GOAL:,.0f}"


def operators_tables(rows: Sequence[OperatorRow]) -> list[Table]:
    ours = table_of(
        "Over Parquet files with string tickers, once warm; in-process: one thread, reading included",
        "job", "M tuples/s", "lowest-highest", "<stock PySpark", "M tuples/s", "in-process", "ratio to stock",
        "to in-process, per core", "equal", "stock equal",
    )  # fmt: skip
    cpu = table_of(
        "Where the CPU goes, ns a tuple",
        "job",
        "operators",
        "element",
        "worker loop",
        "driver",
        "JVM",
        "dead letters/s",
    )
    for own, row in ((row_figures(row), row) for row in rows):
        spread = row.ours.rate.spread
        ours.add_row(
            own["name"], millions(own["tuples_s"]), f"{millions(spread.lowest)}-{millions(spread.highest)}",
            own["stock_way"], _text(own["stock_tuples_s"], millions), millions(own["inprocess_tuples_s"]),
            _text(own["ratio_to_stock"]), _text(own["ratio_to_inprocess_per_core"]), _yes(own["equal"]),
            _yes(own["stock_equal"]),
        )  # fmt: skip
        parts = (own["cpu_ns_per_tuple"].get(name) for name in ("operators", "element", "worker_loop", "driver", "jvm"))
        cpu.add_row(own["name"], *(_text(part) for part in parts), _text(own["dead_letters_s"], "{:,}".format))
    return [ours, cpu]


def operators_notes(figures: dict[str, Any]) -> list[str]:
    return [
        "stock equal: as many results; not said where its time was over before all files were read",
        verdict(figures["goals_missed"]),
    ]


def _lowest(rows: Sequence[dict[str, Any]], key: str) -> float | None:
    return min((own[key] for own in rows if own[key] is not None), default=None)


def _text(value: Any, show: Any = "{:g}".format) -> str:
    return "-" if value is None else show(value)


def _yes(value: bool | None) -> str:
    return "-" if value is None else "yes" if value else "NO"
