"""`python -m benchmarks threads`: the price of threads, the gain of decoupled ingestion, and ELASTIC's grids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.machine import this_machine
from benchmarks.report import finish, progress_shown, table_of, verdict, wide_console
from benchmarks.threads.machine_fit import MOST_THREADS, MachineFit, machine_fit
from benchmarks.threads.pictures import draw_threads
from benchmarks.threads.shared_grid import Gridding, GridRow
from benchmarks.threads.thread_overhead import IngestionRow, OverheadRow, PayloadRow, ingestion, overhead, payload
from penstock.operators.stateless.load import flop_s, rows_within

PAYLOADS_BYTES = (8, 128, 1024, 16_384)
MACHINERY_GOAL = 0.01
LOADS = {"light": 1, "medium": 1_000, "heavy": 10_000, "extra heavy": 1_000_000}


@dataclass(frozen=True, slots=True)
class Effort:
    """How long it may take: seconds of a run, pairs with and without, rounds of the grids."""

    run_s: float = 0.3
    pairs: int = 30
    ingestion_pairs: int = 10
    ingestion_blocks: int = 100
    grid_blocks: int = 512
    rounds: int = 5
    fit_s: float = 1.0


QUICK = Effort(run_s=0.05, pairs=4, ingestion_pairs=3, ingestion_blocks=20, grid_blocks=64, rounds=2, fit_s=0.25)


@dataclass(frozen=True, slots=True)
class ThreadsReport:
    """All rows of a run."""

    overheads: dict[str, OverheadRow]
    ingestions: list[IngestionRow]
    payloads: list[PayloadRow]
    grids: list[GridRow]
    machine: MachineFit


def run_threads(*, quick: bool, json_file: Path | None, picture: Path) -> None:
    """Measures, prints a table each, draws, and ends with one JSON object."""
    effort, machine = QUICK if quick else Effort(), this_machine()
    with progress_shown() as show:
        report = measure_threads(effort, machine.cores, show)
    console = wide_console(140)
    console.print(str(machine), soft_wrap=True)
    for table in _tables(report):
        console.print(table)
    console.print(_machine_line(report.machine), soft_wrap=True)
    draw_threads(report.overheads, report.ingestions, report.grids, MACHINERY_GOAL, picture)
    print(f"drew {picture}")
    print(verdict(missed_goals(report)))
    finish(summary(report, effort), machine, json_file)


def measure_threads(effort: Effort, cores: int, progress: Callable[[str], object]) -> ThreadsReport:
    rate = flop_s()
    overheads = {}
    for name, flop in LOADS.items():
        progress(f"overhead: {name}")
        rows = rows_within(flop, rate)
        overheads[name] = overhead(flop, rows, run_s=effort.run_s, flop_s=rate, pairs=effort.pairs)
    ingestions = []
    for kind, ingest_ms, work_ms in (("waits", 2.0, 2.0), ("computes", 2.0, 2.0), ("computes", 0.2, 2.0)):
        progress(f"ingestion that {kind}")
        ingestions.append(
            ingestion(kind, ingest_ms, work_ms, blocks=effort.ingestion_blocks, flop_s=rate,
                      pairs=effort.ingestion_pairs)
        )  # fmt: skip
    progress("payloads")
    blocks = 10 * effort.ingestion_blocks
    payloads = [payload(size, blocks=blocks, rounds=effort.rounds) for size in PAYLOADS_BYTES]
    progress("grids")
    grids = Gridding(effort.grid_blocks).rows(max(2, cores), effort.rounds)
    return ThreadsReport(overheads, ingestions, payloads, grids, machine_fit(cores, effort.fit_s, progress))


def _machine_line(found: MachineFit) -> str:
    own = found.costs
    return (
        f"machine costs, fitted on 1 and 2 threads: a call {1e6 * own.call_s:.1f} us, into a queue "
        f"{1e6 * own.push_s:.1f} us, out of it {1e6 * own.pop_s:.1f} us, its lock {1e6 * own.lock_s:.2f} us; "
        f"{found.fitted_error:.1%} off in the median there, with other operators and 1 to {MOST_THREADS} threads "
        f"{found.checked_error_median:.1%}, {found.checked_error_worst:.1%} at worst"
    )


def summary(report: ThreadsReport, effort: Effort) -> dict[str, Any]:
    """The JSON object."""
    sequential = report.grids[0].visibilities_s
    by_load = report.overheads.items()
    worth = [row for row in report.overheads.values() if row.is_worth_a_queue]
    return {
        "bench": "threads",
        "machinery_share": {name: round(row.machinery_share, 5) for name, row in by_load},
        "machinery_share_interval": {name: [round(end, 5) for end in row.machinery_interval] for name, row in by_load},
        "machinery_share_worst": round(max(row.machinery_share for row in worth), 5),
        "machinery_share_is": "outside of operators, threads less plain calls; worst: blocks of 1 ms and more",
        "goals_missed": missed_goals(report),
        "outside_operators_share_worst": round(max(row.outside_share for row in worth), 5),
        "outside_operators_share": {name: round(row.outside_share, 5) for name, row in by_load},
        "calls_outside_operators_share": {name: round(row.calls_share, 5) for name, row in by_load},
        "cpu_with_over_without": {name: _ratio(row.cpu) for name, row in by_load},
        "wall_with_over_without": {name: _ratio(row.wall) for name, row in by_load},
        "pairs": effort.pairs,
        "ingestion_gain": [
            {"ingestion": row.kind, "ingest_ms": row.ingest_ms, "work_ms": row.work_ms, **_ratio(row.gain)}
            for row in report.ingestions
        ],
        "queue_us_by_payload_bytes": {row.payload_bytes: round(row.hop_us, 3) for row in report.payloads},
        "machine_costs": asdict(report.machine),
        "grid_ratio_to_sequential": {row.name: round(row.visibilities_s / sequential, 4) for row in report.grids},
    }


def missed_goals(report: ThreadsReport) -> list[str]:
    """The loads whose blocks are worth a queue and whose machinery takes more than it may."""
    return [
        f"machinery of {name}: {MACHINERY_GOAL:.0%} of all CPU seconds"
        for name, row in report.overheads.items() if row.is_worth_a_queue and row.machinery_share > MACHINERY_GOAL
    ]  # fmt: skip


def _ratio(ratio: Any) -> dict[str, float]:
    return {"median": round(ratio.median, 4), "low": round(ratio.low, 4), "high": round(ratio.high, 4)}


def _tables(report: ThreadsReport) -> list[Table]:
    price = table_of(
        "one operator behind a queue, thread level 1, beside function calls; goal: machinery 1 % or less\n"
        "machinery: outside of operators less what plain calls have there, too; the goal is for blocks of a "
        "millisecond and more, smaller ones are better called",
        "load", "flop", "block", "machinery / all CPU", "95 %", "outside operators", "by calls",
        "CPU with / without (95 %)", "wall",
    )  # fmt: skip
    for load, row in report.overheads.items():
        shares = [f"{share:.2%}" for share in (row.machinery_share, row.outside_share, row.calls_share)]
        shares.insert(1, "{:.2%}-{:.2%}".format(*row.machinery_interval))
        price.add_row(load, f"{row.flop:,}", f"{row.block_rows:,}", *shares, str(row.cpu), str(row.wall))
    title = "a thread for the operator, apart from ingestion: wall without / with (95 %)"
    gain = table_of(title, "ingestion", "ms per block", "operator, ms per block", "gain")
    for each in report.ingestions:
        gain.add_row(each.kind, f"{each.ingest_ms:g}", f"{each.work_ms:g}", str(each.gain))
    title = "a block through one queue: it passes by reference, so its payload costs nothing"
    sizes = table_of(title, "bytes per tuple", "CPU microseconds")
    for size in report.payloads:
        sizes.add_row(f"{size.payload_bytes:,}", f"{size.hop_us:.2f}")
    columns = "threads", "M visibilities/s", "ratio to sequential"
    grids = table_of("one grid added up by threads (ELASTIC, section 4)", "way", *columns)
    for grid in report.grids:
        ratio = grid.visibilities_s / report.grids[0].visibilities_s
        grids.add_row(grid.name, str(grid.threads), f"{grid.visibilities_s / 1e6:.2f}", f"{ratio:.2f}")
    return [price, gain, sizes, grids]
