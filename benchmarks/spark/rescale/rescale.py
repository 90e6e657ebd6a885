"""`python -m benchmarks rescale`: from 2 to 4 replicas under load, by a Configuration and by Spark's own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.report import Show, table_of
from benchmarks.spark.applications import KEYED, vwap_on
from benchmarks.spark.batches import gaps_ms, late_results, throughput
from benchmarks.spark.in_process import equals_in_process
from benchmarks.spark.rescale.rescale_stock import FULL_STOCK, SparkRescale, StockEffort, rescale_stock
from benchmarks.spark.sustained import configuration_of, totals
from benchmarks.spark.watching import later_than, newest_batch, started, taken_by, watch_for
from penstock import sinks, sources
from penstock.app.application import Application
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.spark.driver.handle import Handle
from penstock.testing import local_session

FEW, MANY = 2, 4
GOAL_MS = 1000.0
GOAL_MEDIAN, GOAL_WORST = 1.2, 2.0  # micro-batches


@dataclass(frozen=True, slots=True)
class RescaleEffort:
    """Keys of state, seconds of each part, how often it goes from 2 to 4, and Spark's own way."""

    keys: int = 100_000
    load_ratio: float = 0.5
    highest_s: float = 20.0
    warm_s: float = 20.0
    steady_s: float = 4.0
    after_s: float = 4.0
    repeats: int = 20
    micro_batch_tuples: int = 8_388_608
    block_rows: int = 32_768
    stock: StockEffort | None = FULL_STOCK


QUICK = RescaleEffort(
    highest_s=6.0, warm_s=8.0, steady_s=4.0, after_s=4.0, repeats=1, stock=StockEffort(keys=10_000, limit_s=60.0)
)


@dataclass(frozen=True, slots=True)
class Change:
    """One change from 2 to 4 replicas: gaps between commits before and after it, and tuples later than any before.

    `steady_gap_ms` is the median before the change, `steady_longest_ms` the longest: the time before has about as many
    micro-batches as the time after, so that it says how long the longest gap is without any change.  `longest_at`: 0
    where the longest gap after the change ends with the first micro-batch of the time after.
    """

    steady_gap_ms: float
    gap_ms: float
    tuples_late: int
    tuples_over_goal: int
    slots_rebuilt: int
    steady_longest_ms: float
    longest_at: int


@dataclass(frozen=True, slots=True)
class RescaleResult:
    """All changes of ours, the rates, and Spark's own way."""

    highest_tuples_s: float
    rate_tuples_s: float
    changes: tuple[Change, ...]
    checksum_equal: bool
    spark: SparkRescale | None

    @property
    def worst(self) -> Change:
        return max(self.changes, key=lambda change: change.gap_ms)

    @property
    def gaps_in_batches(self) -> list[float]:
        """The longest gap after each change, in micro-batches of the time before it."""
        return [change.gap_ms / change.steady_gap_ms for change in self.changes]

    @property
    def steady_in_batches(self) -> list[float]:
        """The longest gap before each change, in the same measure: what chance alone makes of a longest gap."""
        return [change.steady_longest_ms / change.steady_gap_ms for change in self.changes]


def run_rescale(effort: RescaleEffort, folder: Path, show: Show) -> RescaleResult:
    """The highest rate first, then the changes at a part of it; then Spark's own way in a session of its own."""
    with local_session(task_slots=MANY) as session:
        highest = _highest_tuples_s(session, effort, folder / "highest", show)
        rate = max(highest * effort.load_ratio, 1.0)
        changes, equal = _changes(session, effort, rate, folder / "ours", show)
    spark = None if effort.stock is None else rescale_stock(effort.stock, folder / "spark", show)
    return RescaleResult(highest, rate, tuple(changes), equal, spark)


def _configuration(app: Application, effort: RescaleEffort) -> Configuration:
    few = configuration_of(app, FEW)
    return replace(few, micro_batch_tuples=effort.micro_batch_tuples, block_rows=effort.block_rows)


def _highest_tuples_s(session: Any, effort: RescaleEffort, folder: Path, show: Show) -> float:
    app = vwap_on(sources.trace(rate="unbounded", keys=effort.keys, ticker="int32"), sinks.discard())
    with started(session, app, folder, _configuration(app, effort)) as handle:
        watch_for(handle, effort.highest_s / 2, show, "highest rate, warming up", batches=3)
        return throughput(watch_for(handle, effort.highest_s, show, "highest rate")).tuples_s


def _changes(
    session: Any, effort: RescaleEffort, rate_tuples_s: float, folder: Path, show: Show
) -> tuple[list[Change], bool]:
    trace = sources.trace("constant", rate_tuples_s, keys=effort.keys, ticker="int32")
    app = vwap_on(trace, sinks.discard())
    few = _configuration(app, effort)
    changes = []
    with started(session, app, folder, few) as handle:
        watch_for(handle, effort.warm_s, show, "warming up", batches=5)
        for number in range(effort.repeats):
            changes.append(_change(handle, few, effort, show, f"change {number + 1} of {effort.repeats}"))
            handle.apply(few)
            watch_for(handle, effort.after_s, show, "back to two replicas")
    show("in-process engine over the same tuples")
    return changes, equals_in_process(app, totals(handle.result), effort.block_rows)


def _change(handle: Handle, few: Configuration, effort: RescaleEffort, show: Show, what: str) -> Change:
    before = newest_batch(handle)
    first = taken_by(handle, before)
    steady = watch_for(handle, effort.steady_s, show, f"{what}: steady", batches=3)
    handle.apply(few.with_replicas(KEYED, MANY))
    watch_for(handle, effort.after_s, show, f"{what}: after", batches=3)
    return change_of(handle, steady, later_than(handle, before), first)


def change_of(handle: Handle, steady: Sequence[Observation], seen: Sequence[Observation], first: int) -> Change:
    """What the batches behind the steady ones say, against these; the first of all begins at offset `first`."""
    trace = handle.fixed.graph.sources[0].connector
    arrivals = trace.open(), handle.fixed.started_at_s  # type: ignore[union-attr]
    split = len(steady)
    before = late_results(steady, first, *arrivals)
    after = late_results(seen[split:], first + sum(own.tuples_in for own in steady), *arrivals)
    highest_ms = float(before.ms.max())
    usual, changed = gaps_ms(steady), gaps_ms(seen[split - 1 :])
    return Change(
        median(usual), max(changed), after.tuples_over(highest_ms), after.tuples_over(GOAL_MS),
        sum(o.slots_rebuilt for o in seen[split:]), max(usual), changed.index(max(changed)),
    )  # fmt: skip


def rescale_figures(result: RescaleResult, effort: RescaleEffort) -> dict[str, Any]:
    worst = result.worst
    return {
        "bench": "rescale",
        "gap_ms": round(worst.gap_ms, 1),
        "micro_batch_ms": round(median(c.steady_gap_ms for c in result.changes), 1),
        "gap_median_batches": round(median(result.gaps_in_batches), 2),
        "gap_worst_batches": round(max(result.gaps_in_batches), 2),
        "steady_median_batches": round(median(result.steady_in_batches), 2),
        "steady_worst_batches": round(max(result.steady_in_batches), 2),
        "longest_at": [c.longest_at for c in result.changes],
        "spark_gap_ms": None if result.spark is None else result.spark.gap_ms,
        "keys": effort.keys,
        "load_ratio": round(result.rate_tuples_s / result.highest_tuples_s, 3),
        "gaps_ms": [round(c.gap_ms, 1) for c in result.changes],
        "tuples_late": worst.tuples_late,
        "tuples_over_1_s": worst.tuples_over_goal,
        "slots_rebuilt": max(c.slots_rebuilt for c in result.changes),
        "highest_tuples_s": round(result.highest_tuples_s),
        "rate_tuples_s": round(result.rate_tuples_s),
        "checksum_equal": result.checksum_equal,
        "spark": None if result.spark is None else result.spark.to_json(),
    }


def rescale_tables(result: RescaleResult) -> list[Table]:
    table = table_of(
        f"from {FEW} to {MANY} replicas; late: later than any tuple of the steady time before",
        "", "gap, ms", "steady, ms", "longest, ms", "tuples late", "tuples/s", "keys", "slots rebuilt",
    )  # fmt: skip
    for number, change in enumerate(result.changes):
        gaps = f"{change.gap_ms:,.0f}", f"{change.steady_gap_ms:,.0f}", f"{change.steady_longest_ms:,.0f}"
        table.add_row(
            f"ours, change {number + 1}",
            *gaps,
            f"{change.tuples_late:,}",
            f"{result.rate_tuples_s:,.0f}",
            "",
            f"{change.slots_rebuilt}",
        )
    if result.spark is not None:
        table.add_row(*result.spark.row())
    return [table]


def rescale_notes(result: RescaleResult) -> list[str]:
    middle, worst = median(result.gaps_in_batches), max(result.gaps_in_batches)
    reached = "reached" if middle <= GOAL_MEDIAN and worst <= GOAL_WORST else "missed"
    notes = [f"goal, a gap of {GOAL_MEDIAN} micro-batches in the median and {GOAL_WORST:g} at worst: {reached}, "
             f"{middle:.2f} and {worst:.2f}; checksum {'equal' if result.checksum_equal else 'DIFFERENT'}",
             f"longest gaps of as long a time before the changes: {median(result.steady_in_batches):.2f} in the median "
             f"and {max(result.steady_in_batches):.2f} at worst"]  # fmt: skip
    return [*notes, *((result.spark.note(),) if result.spark is not None else ())]
