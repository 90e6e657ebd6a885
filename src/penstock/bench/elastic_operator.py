"""`bench elastic-operator`: the elastic operator beside every fixed thread level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median
from typing import Any

from penstock.bench.element_case import ElementCase, best_fixed, plant_case
from penstock.control.elastic_operator import ElasticOperator
from penstock.control.element_loop import ElementStep, run_periods
from penstock.control.element_policy import ElementPolicy
from penstock.control.element_setting import ElementSetting
from penstock.control.leaping_operator import LeapingOperator
from penstock.simulate.element_plant import Machine, Noise
from penstock.simulate.element_shapes import FLOP_S, one_operator
from penstock.simulate.shared_cores import SharedCores

POLICIES: dict[str, ElementPolicy[Any]] = {"leaping": LeapingOperator(), "listing": ElasticOperator()}
FLOP_BY_LOAD = {"light": 1, "medium": 1_000, "heavy": 10_000, "extra heavy": 1_000_000}
WAITS_MS = (1, 5, 20)
_QUIET_PERIODS = 15
_LONGEST_BLOCK_S = 0.01
# seeds that nothing was tuned with (record 0020)
SEEDS = tuple(range(401, 409))

# halving and doubling meet 16 and 88 exactly, which flatters a search by them; 23 and 61 they do not
CORES = (16, 23, 61, 88)

MEDIAN_GOAL, WORST_GOAL, SETTLE_GOAL, CHANGES_GOAL = 0.98, 0.9, 15, 1.0


@dataclass(frozen=True, slots=True)
class ElasticRun:
    """One run of a policy over a case."""

    case: ElementCase
    policy: str
    seed: int
    best_level: int
    best_tuples_s: float
    settled_level: int
    ratio: float
    periods_to_settle: int
    changes_per_minute: float
    levels: tuple[int, ...]

    @property
    def periods_beyond_climb(self) -> int:
        """Periods to settle less one per level climbed."""
        return self.periods_to_settle - (self.settled_level - 1)


def measure(
    case: ElementCase,
    policy: str | ElementPolicy[Any],
    seed: int,
    periods: int,
    best: tuple[int, float] | None = None,
) -> ElasticRun:
    """Runs a policy over a case through its port; throughput and changes are those of the periods after it settled.

    A run that never holds a level counts as settled at its end, with throughput and changes of its second half.
    """
    best_level, best_tuples_s = best or best_fixed(case)
    rule = POLICIES[policy] if isinstance(policy, str) else policy
    steps = list(run_periods(case.port_factory(seed), rule, periods))
    levels = tuple(step.setting.threads for step in steps)
    settled = _settled_period(levels)
    begin = len(levels) // 2 if settled is None else settled
    after = steps[begin:]
    changes = sum(a != b for a, b in pairwise(levels[begin:]))
    minutes = len(after) * case.period_s / 60
    return ElasticRun(
        case, str(policy), seed, best_level, best_tuples_s, levels[-1 if settled is None else settled],
        _throughput_tuples_s(case, after) / best_tuples_s, len(levels) if settled is None else settled,
        changes / minutes, levels,
    )  # fmt: skip


def _settled_period(levels: Sequence[int]) -> int | None:
    """The first period with a level that holds for a while."""
    for period in range(len(levels) - _QUIET_PERIODS):
        if len(set(levels[period : period + _QUIET_PERIODS])) == 1:
            return period
    return None


def _throughput_tuples_s(case: ElementCase, steps: Sequence[ElementStep]) -> float:
    if case.kind == "simulated":
        return mean(case.fixed_tuples_s(step.setting) for step in steps)
    return mean(step.observation.throughput_tuples_s for step in steps)


def plant_cases(cores: Sequence[int] = CORES, noise: float = 0.01) -> list[ElementCase]:
    """The loads of ELASTIC's Figures 4 and 5 and waiting ones, on machines of many cores."""
    queued = frozenset({"work"})
    cases = []
    for k in cores:
        for load, flop in FLOP_BY_LOAD.items():
            block = max(1, min(8192, int(_LONGEST_BLOCK_S / (flop * FLOP_S))))
            model = one_operator(flop, block_tuples=block)
            cases.append(plant_case(f"{load}, {k} cores", model, k, max_level=2 * k, noise=noise, queued=queued))
        for wait_ms in WAITS_MS:
            model = one_operator(1, block_tuples=64, wait_s=wait_ms / 1000)
            cases.append(
                plant_case(f"waiting {wait_ms} ms, {k} cores", model, k, max_level=128, noise=noise, queued=queued)
            )
    return cases


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Several elastic operators on the same cores (ELASTIC, Figure 7): total to the best even setting, and fairness."""

    policy: str
    fair: bool
    cores: int
    ratio: float
    fairness: float
    levels: tuple[int, ...]


def measure_side_by_side(
    policy: str, cores: int, seed: int, periods: int, *, fair: bool, operators: int = 4
) -> SideBySide:
    """Every operator follows its own policy; fairness is Jain's index of their throughputs (1: all the same)."""
    models = tuple(one_operator(10_000, block_tuples=1000) for _ in range(operators))
    shared = SharedCores(models, Machine(cores), fair=fair, noise=Noise(0.01, 0, seed))
    rule = POLICIES[policy]
    started = [rule.start(element.observe()) for element in shared.elements]
    states = [state for state, _ in started]
    totals: list[list[float]] = []
    for _ in range(periods):
        for number, element in enumerate(shared.elements):
            states[number], setting, _ = rule.decide(states[number], element.observe())
            element.apply(setting)
        totals.append(shared.rates_tuples_s())
    late = [mean(rates) for rates in zip(*totals[periods // 2 :], strict=True)]
    fairness = sum(late) ** 2 / (len(late) * sum(rate**2 for rate in late))
    best = _best_even_tuples_s(models, cores)
    return SideBySide(
        policy, fair, cores, sum(late) / best, fairness, tuple(e.setting.threads for e in shared.elements)
    )


def _best_even_tuples_s(models: tuple[Any, ...], cores: int) -> float:
    shared = SharedCores(models, Machine(cores))
    best = 0.0
    for level in range(1, 2 * cores + 1):
        for element in shared.elements:
            element.apply(ElementSetting(level, frozenset({"work"})))
        best = max(best, sum(shared.rates_tuples_s()))
    return best


def summary(runs: Sequence[ElasticRun], policy: str) -> dict[str, Any]:
    """The figures of one policy over all its runs."""
    own = [run for run in runs if run.policy == policy]
    return {
        "elastic_over_best_static_median": round(median(run.ratio for run in own), 4),
        "elastic_over_best_static_worst": round(min(run.ratio for run in own), 4),
        "periods_to_settle_worst": max(run.periods_to_settle for run in own),
        "periods_beyond_climb_worst": max(run.periods_beyond_climb for run in own),
        "changes_per_minute_worst": round(max(run.changes_per_minute for run in own), 3),
    }


def missed_goals(figures: dict[str, Any]) -> list[str]:
    """Which goals of the issue a policy's figures miss."""
    checks: dict[str, Callable[[], bool]] = {
        f"median {MEDIAN_GOAL:.0%} of the best level": lambda: (
            figures["elastic_over_best_static_median"] >= MEDIAN_GOAL
        ),
        f"worst {WORST_GOAL:.0%} of the best level": lambda: figures["elastic_over_best_static_worst"] >= WORST_GOAL,
        f"settled within {SETTLE_GOAL} periods plus levels": lambda: (
            figures["periods_beyond_climb_worst"] <= SETTLE_GOAL
        ),
        f"at most {CHANGES_GOAL:g} change a minute": lambda: figures["changes_per_minute_worst"] <= CHANGES_GOAL,
    }
    return [goal for goal, met in checks.items() if not met()]
