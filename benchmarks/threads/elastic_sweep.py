"""The two constants that ELASTIC does not give, swept over the plant: what each pair gains and costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import mean, median

from rich.console import Console

from benchmarks.report import table_of
from benchmarks.threads import elastic_operator, external_load
from benchmarks.threads.element_case import fixed_rates
from penstock.control.threads.elastic_operator import ElasticOperator

TOLERANCES = (0.01, 0.02, 0.05, 0.1, 0.2)
DECAY_RATES = (0.0, 0.001, 0.005, 0.01, 0.05, 0.1)
NOISES = (0.01, 0.02)
# the seeds that constants were chosen with, not those of the benchmark
SEEDS = (1, 2, 3, 4)
CORES = (16, 88)
_PERIODS = 300


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One pair of constants on so many cores at one noise: ratios to the best fixed level, changes, the worst phase.

    `changes_per_100_periods`: once settled, a period being a second.
    """

    cores: int
    tolerance: float
    decay_rate: float
    noise: float
    ratio_median: float
    ratio_worst: float
    changes_per_100_periods: float
    load_ratio_worst: float


def sweep(cores: Sequence[int] = CORES, noises: Sequence[float] = NOISES) -> list[SweepPoint]:
    """The listing over every load that computes, and through the schedule of external load, by cores and noise."""
    return [point for number in cores for noise in noises for point in _swept(number, noise)]


def _swept(cores: int, noise: float) -> Iterator[SweepPoint]:
    cases = [(case, fixed_rates(case)) for case in elastic_operator.plant_cases((cores,), noise)]
    # waiting loads are best at 128 threads, where only the tolerance decides: they would hide the rest
    computing = [(case, static) for case, static in cases if not case.name.startswith("waiting")]
    phases = external_load.schedule(cores, 60)
    loaded = external_load.plant_load_case(cores, phases, noise)
    fixed = external_load.fixed_rates_tuples_s(loaded, phases, SEEDS[0])
    for tolerance, decay_rate in product(TOLERANCES, DECAY_RATES):
        policy = ElasticOperator(tolerance, decay_rate)
        runs = [
            elastic_operator.measure(case, policy, seed, _PERIODS, static)
            for case, static in computing for seed in SEEDS
        ]  # fmt: skip
        loads = [external_load.measure(loaded, policy, phases, seed, fixed) for seed in SEEDS]
        ratios = [run.ratio for run in runs]
        yield SweepPoint(
            cores, tolerance, decay_rate, noise, median(ratios), min(ratios),
            mean(run.changes_per_minute for run in runs) * 100 / 60,
            min(phase.ratio_once_back for run in loads for phase in run.phases),
        )  # fmt: skip


def print_sweep(console: Console, points: Sequence[SweepPoint]) -> None:
    """A row per pair of constants and noise."""
    table = table_of(
        "the listing's constants (simulated)",
        "cores", "noise", "tolerance", "decay", "median", "worst", "changes/100 periods",
        "worst phase under load, after 10 periods",
    )  # fmt: skip
    for point in points:
        table.add_row(
            str(point.cores), f"{point.noise:g}", f"{point.tolerance:g}", f"{point.decay_rate:g}",
            f"{point.ratio_median:.3f}", f"{point.ratio_worst:.3f}", f"{point.changes_per_100_periods:.1f}",
            f"{point.load_ratio_worst:.3f}",
        )  # fmt: skip
    console.print(table)
