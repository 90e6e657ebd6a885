"""Benchmark `multilevel`: no queues, all queues with thread count alone, multi-level elasticity, and the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from benchmarks.threads import exhaustive
from benchmarks.threads.element_case import ElementCase
from benchmarks.threads.multilevel_cases import CHANGE_PERIOD, Cell, changing_case
from penstock.control.threads.element_loop import ElementStep, run_periods
from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.multilevel.policy import MultiLevel
from penstock.control.threads.multilevel.rules import OURS, PAPER, MultiLevelRules, without_optimisations
from penstock.simulate.element_plant import ElementPlant, Machine

RULES: dict[str, MultiLevelRules] = {
    "pieces": OURS,
    "paper": PAPER,
    "paper, from half": replace(PAPER, whole_group_first=False),
    "paper, taking back": replace(PAPER, take_back=True),
}
JUDGED = "pieces"
SIMPLE_GOAL, EXHAUSTIVE_GOAL, PERIODS_GOAL, SHORTENING_GOAL = 0.95, 0.9, 40, 0.5
MORE_IS_BETTER = frozenset(
    {
        "worst_ratio_to_best_simple",
        "median_ratio_to_best_simple",
        "worst_ratio_to_exhaustive",
        "ratio_after_change_worst",
    }
)
_MOST_PERIODS = 400


@dataclass(frozen=True, slots=True)
class MultiLevelRun:
    """One case: throughput of the simple ways, and of each set of rules with threads, queues and periods to settle.

    `tried`: for the exhaustive best so many settings, of all that there are.
    """

    cell: Cell
    seed: int
    manual_tuples_s: float
    threads_only_tuples_s: float
    found: dict[str, Found]
    exhaustive_tuples_s: float | None = None
    tried: tuple[int, int] | None = None

    @property
    def best_simple_tuples_s(self) -> float:
        return max(self.manual_tuples_s, self.threads_only_tuples_s)

    def ratio(self, rules: str) -> float:
        return self.found[rules].throughput_tuples_s / self.best_simple_tuples_s

    def ratio_to_exhaustive(self, rules: str) -> float:
        assert self.exhaustive_tuples_s is not None
        return self.found[rules].throughput_tuples_s / self.exhaustive_tuples_s


@dataclass(frozen=True, slots=True)
class Found:
    """Where a policy settled; `periods` is None where it did not within the run."""

    throughput_tuples_s: float
    setting: ElementSetting
    periods: int | None
    journal: tuple[str, ...]

    @property
    def threads(self) -> int:
        return self.setting.threads

    @property
    def queues(self) -> int:
        return len(self.setting.queued)


def settle(case: ElementCase, rules: MultiLevelRules, seed: int, periods: int = _MOST_PERIODS) -> Found:
    """Runs the policy through the case's port until it has settled."""
    journal: list[str] = []
    last = None
    for step in run_periods(case.port_factory(seed), MultiLevel(replace(rules, seed=seed)), periods):
        journal.append(str(step))
        last = step
        if step.settled:
            break
    assert last is not None
    setting = last.next_setting
    took = last.period + 1 if last.settled else None
    return Found(case.fixed_tuples_s(setting), setting, took, tuple(journal))


def measure(cell: Cell, case: ElementCase, seed: int) -> MultiLevelRun:
    """The case in every way but the exhaustive one."""
    manual, threads_only = _simple_settings(case)
    found = {name: settle(case, rules, seed) for name, rules in RULES.items()}
    return MultiLevelRun(cell, seed, case.fixed_tuples_s(manual), case.fixed_tuples_s(threads_only), found)


def measure_small(
    cell: Cell, case: ElementCase, seed: int, *, seconds: float = 0.0, note: exhaustive.Note = lambda step: None
) -> MultiLevelRun:
    """A case of a handful of operators beside the exhaustive best, which on a machine is looked for in `seconds`."""
    run = measure(cell, case, seed)
    if case.glimpsed_tuples_s is None:
        return replace(run, exhaustive_tuples_s=exhaustive.best_tuples_s(case))
    simple, found = _simple_settings(case), run.found
    ended = exhaustive.contest(case, [*simple, *(own.setting for own in found.values())], seconds, note, seed)
    manual, threads_only = (ended.rates[setting] for setting in simple)
    return MultiLevelRun(
        cell, seed, manual, threads_only,
        {name: replace(own, throughput_tuples_s=ended.rates[own.setting]) for name, own in found.items()},
        max(ended.rates.values()), (ended.tried, ended.settings),
    )  # fmt: skip


def _simple_settings(case: ElementCase) -> tuple[ElementSetting, ElementSetting]:
    """No queues, and queues everywhere at the best level."""
    every = frozenset(case.operators)
    return ElementSetting(1), max((ElementSetting(level, every) for level in case.levels), key=case.fixed_tuples_s)


@dataclass(frozen=True, slots=True)
class SettlingRun:
    """How many periods a case takes to settle, by which optimisations are on; None where it did not settle."""

    cell: Cell
    seed: int
    rules: str
    periods: dict[str, int | None]


def measure_settling(cell: Cell, case: ElementCase, seed: int, rules: str) -> SettlingRun:
    """The same case with both optimisations, with a satisfaction factor of 0, with history alone, with neither."""
    own = RULES[rules]
    variants = {
        "both": own, "factor 0": replace(own, satisfaction=0.0), "history alone": replace(own, satisfaction=None),
        "neither": without_optimisations(own),
    }  # fmt: skip
    periods = {name: settle(case, variant, seed).periods for name, variant in variants.items()}
    return SettlingRun(cell, seed, rules, periods)


@dataclass(frozen=True, slots=True)
class ChangeRun:
    """A workload that changes: throughput to the best simple way before and after, and how long it took to adapt."""

    rules: str
    seed: int
    ratio_before: float
    ratio_after: float
    ratio_unadapted: float
    periods: int | None
    levels: tuple[int, ...]
    queues: tuple[int, ...]
    rates_tuples_s: tuple[float, ...]


def measure_change(rules: str, seed: int, periods: int = 2 * CHANGE_PERIOD) -> ChangeRun:
    """10 % heavy operators become 90 % while it runs."""
    case, before, after = changing_case(seed)
    steps = list(run_periods(case.port_factory(seed), MultiLevel(replace(RULES[rules], seed=seed)), periods))
    plants = [ElementPlant(model, Machine(case.cores)) for model in (before, after)]
    every = frozenset(case.operators)
    best = [max(plant.throughput_tuples_s(ElementSetting(level, every)) for level in case.levels) for plant in plants]
    old, new = steps[CHANGE_PERIOD - 1].next_setting, steps[-1].next_setting
    pairs = ((plants[0], old, best[0]), (plants[1], new, best[1]), (plants[1], old, best[1]))
    ratios = [plant.throughput_tuples_s(setting) / most for plant, setting, most in pairs]
    return change_run_of(rules, seed, steps, CHANGE_PERIOD, *ratios)


def change_run_of(
    rules: str, seed: int, steps: Sequence[ElementStep], change: int, before: float, after: float, unadapted: float
) -> ChangeRun:
    """The figures of a run whose load changed at a period, with its ratios to the better simple way."""
    busy = [step.period for step in steps[change:] if not step.settled]
    return ChangeRun(
        rules, seed, before, after, unadapted, (busy[-1] + 2 - change if busy else None) if steps[-1].settled else None,
        tuple(step.setting.threads for step in steps), tuple(len(step.setting.queued) for step in steps),
        tuple(step.observation.throughput_tuples_s for step in steps),
    )  # fmt: skip


def summary(
    large: Sequence[MultiLevelRun], small: Sequence[MultiLevelRun], settling: Sequence[SettlingRun],
    changes: Sequence[ChangeRun], rules: str,
) -> dict[str, Any]:  # fmt: skip
    """The figures of one set of rules, as far as there are runs of it."""
    changed = [run.ratio_after for run in changes if run.rules == rules]
    return {
        "worst_ratio_to_best_simple": round(min(run.ratio(rules) for run in large), 4),
        "median_ratio_to_best_simple": round(median(run.ratio(rules) for run in large), 4),
        "worst_ratio_to_exhaustive": round(min(run.ratio_to_exhaustive(rules) for run in small), 4),
        **_periods_to_settle([run for run in settling if run.rules == rules]),
        **({"ratio_after_change_worst": round(min(changed), 4)} if changed else {}),
    }


def _periods_to_settle(runs: Sequence[SettlingRun]) -> dict[str, Any]:
    """Shortening is by case: periods with both optimisations to those with neither."""
    if not runs:
        return {}
    with_both, with_neither = ([run.periods[name] or _MOST_PERIODS for run in runs] for name in ("both", "neither"))
    shortened = [a / b for a, b in zip(with_both, with_neither, strict=True)]
    return {
        "periods_with_optimisations": max(with_both),
        "periods_without": max(with_neither),
        "periods_with_over_without_median": round(median(shortened), 3),
        "periods_with_over_without_worst": round(max(shortened), 3),
    }


def missed_goals(figures: Mapping[str, Any]) -> list[str]:
    """Which goals of the issue a set of rules misses; shortening is judged by its median over cases.

    A figure that there is none of is not judged: periods to settle are those of the plant alone.
    """
    least = {
        "worst_ratio_to_best_simple": (SIMPLE_GOAL, f"{SIMPLE_GOAL} of the better simple way"),
        "worst_ratio_to_exhaustive": (EXHAUSTIVE_GOAL, f"{EXHAUSTIVE_GOAL} of the exhaustive best"),
        "ratio_after_change_worst": (SIMPLE_GOAL, f"{SIMPLE_GOAL} of the better simple way after a change"),
    }
    most = {
        "periods_with_optimisations": (PERIODS_GOAL, f"settled within {PERIODS_GOAL} periods"),
        "periods_with_over_without_median": (SHORTENING_GOAL, "half of the periods without optimisations"),
    }
    too_low = [goal for name, (bound, goal) in least.items() if name in figures and figures[name] < bound]
    too_high = [goal for name, (bound, goal) in most.items() if name in figures and figures[name] > bound]
    return too_low + too_high
