"""Benchmark `external-load`: cores are taken and given back while an elastic operator works (ELASTIC, Figure 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, Literal

from benchmarks.threads.elastic_operator import POLICIES
from benchmarks.threads.element_case import ElementCase, plant_case
from penstock.control.threads.element_loop import run_periods
from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.thread_policy import ThreadPolicy
from penstock.simulate.element_plant import Change
from penstock.simulate.element_shapes import one_operator

RATIO_GOAL, RECOVERY_GOAL = 0.9, 10
MORE_IS_BETTER = frozenset({"worst_phase_ratio", "worst_phase_ratio_once_back"})
_LASTING_PERIODS = 5
StaticRates = Mapping[int, Sequence[float]]
"""By level, the throughput in each phase."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Periods in which so many cores are taken; the last phase ends with the run."""

    begin: int
    end: int
    taken_cores: int


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """How a policy did in a phase, and when it was back for good.

    `ratio` is of all its periods, `ratio_once_back` of those after the ten that it has to come back in.
    `recovery_periods` is None where no stretch of periods reached the goal.
    """

    phase: Phase
    best_level: int
    best_tuples_s: float
    ratio: float
    ratio_once_back: float
    recovery_periods: int | None
    level: int


@dataclass(frozen=True, slots=True)
class LoadRun:
    """One run over all phases, with level and throughput by period."""

    load: str
    kind: Literal["simulated", "measured"]
    policy: str
    seed: int
    phases: tuple[PhaseResult, ...]
    levels: tuple[int, ...]
    rates_tuples_s: tuple[float, ...]


def schedule(cores: int, periods: int) -> tuple[Phase, ...]:
    """Quiet, half of the cores taken, all, a quarter (one at least), quiet again: `periods` each."""
    taken = (0, cores // 2, cores, max(1, cores // 4), 0)
    return tuple(Phase(n * periods, (n + 1) * periods, share) for n, share in enumerate(taken))


def plant_load_case(cores: int, phases: Sequence[Phase], noise: float = 0.01) -> ElementCase:
    """The heavy load on a simulated machine whose cores are taken by the schedule."""
    # one period is spent on getting to know the element before the first is counted
    changes = tuple(Change(phase.begin + 1 if phase.begin else 0, phase.taken_cores) for phase in phases)
    model = one_operator(10_000, block_tuples=1000)
    return plant_case(
        f"heavy, {cores} cores", model, cores, max_level=2 * cores, noise=noise, queued=frozenset({"work"}),
        changes=changes,
    )  # fmt: skip


def fixed_rates_tuples_s(case: ElementCase, phases: Sequence[Phase], seed: int) -> dict[int, list[float]]:
    """Throughput of every fixed level in every phase, each level run through the whole schedule."""
    rates: dict[int, list[float]] = {}
    for level in case.levels:
        port = case.port_factory(seed)
        port.apply(ElementSetting(level, case.queued))
        port.observe()
        seen = [port.observe().throughput_tuples_s for _ in range(phases[-1].end)]
        rates[level] = by_phase(seen, phases)
    return rates


def by_phase(rates: Sequence[float], phases: Sequence[Phase]) -> list[float]:
    """The mean of each phase."""
    return [mean(rates[phase.begin : phase.end]) for phase in phases]


def measure(
    case: ElementCase, policy: str | ThreadPolicy[Any], phases: Sequence[Phase], seed: int, fixed: StaticRates
) -> LoadRun:
    """Runs a policy alone through the schedule, beside what fixed levels gave in each phase."""
    rule = POLICIES[policy] if isinstance(policy, str) else policy
    steps = list(run_periods(case.port_factory(seed), rule, phases[-1].end))
    rates = [step.observation.throughput_tuples_s for step in steps]
    levels = [step.setting.threads for step in steps]
    return load_run(case.name, "simulated", str(policy), seed, phases, fixed, levels, rates)


def load_run(
    load: str, kind: Literal["simulated", "measured"], policy: str, seed: int, phases: Sequence[Phase],
    fixed: StaticRates, levels: Sequence[int], rates: Sequence[float],
) -> LoadRun:  # fmt: skip
    """The figures of a run, phase by phase."""
    results = []
    for number, phase in enumerate(phases):
        best_level = max(fixed, key=lambda level: fixed[level][number])
        own, best = rates[phase.begin : phase.end], fixed[best_level][number]
        results.append(
            PhaseResult(
                phase, best_level, best, mean(own) / best, mean(own[RECOVERY_GOAL:]) / best,
                _recovery(own, RATIO_GOAL * best), levels[phase.end - 1],
            )
        )  # fmt: skip
    return LoadRun(load, kind, policy, seed, tuple(results), tuple(levels), tuple(rates))


def _recovery(rates: Sequence[float], needed: float) -> int | None:
    """Periods until the rate is back for a while."""
    for period in range(len(rates) - _LASTING_PERIODS + 1):
        if min(rates[period : period + _LASTING_PERIODS]) >= needed:
            return period
    return None


def summary(runs: Sequence[LoadRun], policy: str) -> dict[str, Any]:
    """The figures of one policy; the start is no recovery and stands for itself."""
    own = [run for run in runs if run.policy == policy]
    phases = [phase for run in own for phase in run.phases]
    recoveries = [phase.recovery_periods for run in own for phase in run.phases[1:]]
    return {
        "worst_phase_ratio": round(min(phase.ratio for phase in phases), 4),
        "worst_phase_ratio_once_back": round(min(phase.ratio_once_back for phase in phases), 4),
        "recovery_periods_worst": _worst(recoveries),
        "start_periods_worst": _worst([run.phases[0].recovery_periods for run in own]),
        "phases_not_recovered": recoveries.count(None),
    }


def _worst(periods: Sequence[int | None]) -> int | None:
    """The most of them; None where one of them never came to an end."""
    known = [period for period in periods if period is not None]
    return max(known) if len(known) == len(periods) else None


def missed_goals(figures: Mapping[str, Any]) -> list[str]:
    """Which goals of the issue a policy's figures miss; a phase counts as a whole."""
    missed = []
    if figures["worst_phase_ratio"] < RATIO_GOAL:
        missed.append(f"{RATIO_GOAL:.0%} of the best fixed level in each phase")
    if figures["recovery_periods_worst"] is None or figures["recovery_periods_worst"] > RECOVERY_GOAL:
        missed.append(f"back within {RECOVERY_GOAL} periods")
    return missed
