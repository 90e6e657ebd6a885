"""`python -m benchmarks elastic-operator`: the elastic operator beside every fixed thread level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median
from typing import Any, Literal

from benchmarks.threads.element_case import ElementCase, fixed_rates, plant_case
from penstock.control.threads.elastic_operator import ElasticOperator
from penstock.control.threads.element_loop import run_periods
from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.leaping_operator import CALM, FOR_SERVICES
from penstock.control.threads.thread_policy import ThreadPolicy
from penstock.plan.thread_setting import ThreadPolicyName
from penstock.simulate.element_plant import Machine, Noise
from penstock.simulate.element_shapes import FLOP_S, one_operator
from penstock.simulate.shared_cores import SharedCores

JUDGED = "leaping"
# The settings that users have. Goals are for elastic threads; elastic_map looks upwards more often than they allow.
POLICIES: dict[str, ThreadPolicy[Any]] = {
    JUDGED: CALM,
    "listing": ElasticOperator(),
    "elastic_map's": FOR_SERVICES,
}
# Those that `ps.Engine(threads=...)` has, by its own names.
POLICY_OF_ENGINE: dict[str, ThreadPolicyName] = {JUDGED: "elastic", "listing": "elastic_operator"}
FLOP_BY_LOAD = {"light": 1, "medium": 1_000, "heavy": 10_000, "extra heavy": 1_000_000}
WAITS_MS = (1, 5, 20)
_CALM_PERIODS = 15
_LONGEST_BLOCK_S = 0.01
# seeds that nothing was tuned with (record 0020)
SEEDS = tuple(range(501, 509))

# halving and doubling meet 16 and 88 exactly, which flatters a search by them; 23 and 61 they do not
CORES = (16, 23, 61, 88)

MEDIAN_GOAL, WORST_GOAL, SETTLE_GOAL, CHANGES_GOAL = 0.98, 0.9, 15, 1.0
MORE_IS_BETTER = frozenset({"elastic_over_best_static_median", "elastic_over_best_static_worst"})


@dataclass(frozen=True, slots=True)
class Periods:
    """What a policy did: level and throughput by period, and the changes of the level within or at the end of each."""

    levels: tuple[int, ...]
    rates_tuples_s: tuple[float, ...]
    changes: tuple[int, ...]
    period_s: float = 1.0


@dataclass(frozen=True, slots=True)
class ElasticRun:
    """One run of a policy over a load, beside what every fixed level gives.

    `ratio` is to `best_tuples_s`: what the best of them gives, or gave around the run where it was measured again.
    """

    load: str
    kind: Literal["simulated", "measured"]
    policy: str
    seed: int
    static_tuples_s: Mapping[int, float]
    best_tuples_s: float
    settled_level: int
    ratio: float
    periods_to_settle: int
    changes_per_minute: float
    levels: tuple[int, ...]

    @property
    def best_level(self) -> int:
        return max(self.static_tuples_s, key=self.static_tuples_s.__getitem__)

    @property
    def periods_beyond_climb(self) -> int:
        """Periods to settle less one per level climbed."""
        return self.periods_to_settle - (self.settled_level - 1)


def measure(
    case: ElementCase,
    policy: str | ThreadPolicy[Any],
    seed: int,
    periods: int,
    static_tuples_s: Mapping[int, float] | None = None,
) -> ElasticRun:
    """Runs a policy alone over a case through its port, without what a user's engine has around it.

    A period's throughput is what its setting truly gives.
    """
    rule = POLICIES[policy] if isinstance(policy, str) else policy
    steps = list(run_periods(case.port_factory(seed), rule, periods))
    levels = tuple(step.setting.threads for step in steps)
    rates = tuple(case.fixed_tuples_s(step.setting) for step in steps)
    changes = (*(int(a != b) for a, b in pairwise(levels)), 0)
    static = static_tuples_s or fixed_rates(case)
    return elastic_run(
        case.name, "simulated", str(policy), seed, static, Periods(levels, rates, changes, case.period_s)
    )


def elastic_run(
    load: str, kind: Literal["simulated", "measured"], policy: str, seed: int,
    static_tuples_s: Mapping[int, float], seen: Periods, best_tuples_s: float | None = None,
) -> ElasticRun:  # fmt: skip
    """The figures of a run; throughput and changes are those of the periods after it settled.

    A run that never holds a level counts as settled at its end, with throughput and changes of its second half.
    """
    levels = seen.levels
    settled = _settled_period(levels)
    begin = len(levels) // 2 if settled is None else settled
    minutes = len(levels[begin:]) * seen.period_s / 60
    best = max(static_tuples_s.values()) if best_tuples_s is None else best_tuples_s
    return ElasticRun(
        load, kind, policy, seed, static_tuples_s, best, levels[-1 if settled is None else settled],
        mean(seen.rates_tuples_s[begin:]) / best,
        len(levels) if settled is None else settled, sum(seen.changes[begin:]) / minutes, levels,
    )  # fmt: skip


def _settled_period(levels: Sequence[int]) -> int | None:
    """The first period with a level that holds for a while."""
    for period in range(len(levels) - _CALM_PERIODS):
        if len(set(levels[period : period + _CALM_PERIODS])) == 1:
            return period
    return None


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

    @classmethod
    def of(
        cls, policy: str, fair: bool, cores: int, rates: Sequence[float], best: float, levels: Sequence[int]
    ) -> SideBySide:
        """The figures of what each got, beside the best that all get at even levels."""
        fairness = sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))
        return cls(policy, fair, cores, sum(rates) / best, fairness, tuple(levels))


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
    levels = [element.setting.threads for element in shared.elements]
    return SideBySide.of(policy, fair, cores, late, _best_even_tuples_s(models, cores), levels)


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


def statics(runs: Sequence[ElasticRun]) -> dict[str, dict[int, float]]:
    """Throughput of every load at every fixed level, to four digits."""
    return {
        run.load: {level: float(f"{rate:.4g}") for level, rate in run.static_tuples_s.items()}
        for run in {run.load: run for run in runs}.values()
    }


def missed_goals(figures: Mapping[str, Any]) -> list[str]:
    """Which goals of the issue a policy's figures miss."""
    met = {
        f"median {MEDIAN_GOAL:.0%} of the best level": figures["elastic_over_best_static_median"] >= MEDIAN_GOAL,
        f"worst {WORST_GOAL:.0%} of the best level": figures["elastic_over_best_static_worst"] >= WORST_GOAL,
        f"settled within {SETTLE_GOAL} periods plus levels": figures["periods_beyond_climb_worst"] <= SETTLE_GOAL,
        f"at most {CHANGES_GOAL:g} change a minute": figures["changes_per_minute_worst"] <= CHANGES_GOAL,
    }
    return [goal for goal, reached in met.items() if not reached]
