"""The rows of the element benches that are measured on this machine, beside those of the plant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from benchmarks.threads import elastic_operator, external_load, multilevel
from benchmarks.threads.elastic_operator import POLICY_OF_ENGINE, Periods, elastic_run
from benchmarks.threads.measured import engine_cases
from benchmarks.threads.measured.fed_engine import EnginePeriod
from benchmarks.threads.measured.real_cases import OneAtATime, period_of, real_case, real_multilevel_models
from benchmarks.threads.measured.real_element import RealElement
from benchmarks.threads.measured.real_side_by_side import engines_side_by_side, side_by_side
from benchmarks.threads.multilevel import RULES, ChangeRun, change_run_of
from benchmarks.threads.multilevel_cases import BLOCKS, SMALL_SHAPES, Cell
from penstock.control.threads.element_loop import run_periods
from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.multilevel.policy import MultiLevel
from penstock.operators.stateless.load import flop_s
from penstock.plan.thread_setting import ElasticThreads
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_shapes import Costs, balanced, pipeline, skewed

Note = Callable[[str], object]
_EXHAUSTIVE_BLOCK = 64


@dataclass(frozen=True, slots=True)
class RealEffort:
    """How long real elements are measured: seconds of a period, periods of a run and of each phase of external load.

    Fixed levels go through phases of `fixed_phase_periods`, since there are several of them and nothing to find.
    `exhaustive_s` is for the search among all settings of each of the small graphs.
    """

    period_s: float = 1.0
    periods: int = 90
    phase_periods: int = 60
    fixed_phase_periods: int = 15
    graph_period_s: float = 0.25
    graph_periods: int = 80
    policies: tuple[str, ...] = ("leaping", "listing")
    blocks: tuple[int, ...] = BLOCKS
    exhaustive_shapes: tuple[str, ...] = ("pipeline 8", "data-parallel 7", "mixed 2 x 3")
    exhaustive_s: float = 30.0
    quick: bool = False


QUICK = RealEffort(
    period_s=0.2, periods=30, phase_periods=20, fixed_phase_periods=5, graph_period_s=0.1, graph_periods=30,
    policies=("leaping",), blocks=(64,), exhaustive_shapes=("mixed 2 x 3",), exhaustive_s=4.0, quick=True,
)  # fmt: skip


def elastic_runs(effort: RealEffort, cores: int, note: Note) -> list[elastic_operator.ElasticRun]:
    """`ps.Engine(threads="elastic")` over computing and waiting loads, beside every fixed number of threads.

    The best of these is measured again before and after each run, which is what the run is compared with: the highest
    of several noisy figures is too high, and a machine's speed changes within minutes.
    """
    runs = []
    for case in engine_cases.elastic_cases(cores, effort.period_s):
        note(f"{case.name}: fixed levels")
        static = case.fixed_rates()
        best, again = max(static, key=static.__getitem__), effort.periods // 10
        static_rates = [case.fixed_rate(best, again)]
        for policy in effort.policies:
            note(f"{case.name}: {policy}")
            seen = _periods(case.elastic(POLICY_OF_ENGINE[policy], effort.periods), case.period_s)
            static_rates.append(case.fixed_rate(best, again))
            runs.append(elastic_run(case.name, "measured", policy, 0, static, seen, mean(static_rates[-2:])))
    return runs


def _periods(seen: Sequence[EnginePeriod], period_s: float) -> Periods:
    """Each with the level it began with, one thread at first: a change within a period is taken to be at its end."""
    levels, changes = (period.level for period in seen), (period.changes for period in seen)
    return Periods((1, *levels)[:-1], tuple(period.tuples_s for period in seen), tuple(changes), period_s)


def side_by_side_runs(effort: RealEffort, cores: int, note: Note) -> list[elastic_operator.SideBySide]:
    """Four elastic operators that compete for the cores of this machine: bare policies, and engines, which share."""
    runs = []
    for policy in effort.policies:
        note(f"four operators side by side: {policy}")
        runs.append(side_by_side(policy, cores, period_s=effort.period_s, periods=effort.periods // 2))
        threads = ElasticThreads(policy=POLICY_OF_ENGINE[policy], period_s=effort.period_s)
        runs.append(engines_side_by_side(policy, threads, cores, effort.period_s, effort.periods // 2))
    return runs


def change_runs(effort: RealEffort, cores: int, note: Note) -> list[multilevel.ChangeRun]:
    """10 % heavy operators become 90 % while a real element runs."""
    note("a workload that changes")
    period_s, periods = effort.graph_period_s, 2 * effort.graph_periods
    return [change_run("pieces", cores, period_s=period_s, periods=periods, operators=30 if effort.quick else 100)]


def load_runs(effort: RealEffort, cores: int, note: Note) -> list[external_load.LoadRun]:
    """`ps.Engine` with the heavy load while other processes peg cores and let them go."""
    phases = external_load.schedule(cores, effort.phase_periods)
    short = external_load.schedule(cores, effort.fixed_phase_periods)
    case = engine_cases.load_case(cores, effort.period_s)
    fixed: dict[int, list[float]] = {}
    runs = []
    for level in case.levels:
        note(f"{case.name}: fixed level {level}")
        rates = [period.tuples_s for period in case.loaded(level, short)]
        fixed[level] = external_load.by_phase(rates, short)
    for policy in effort.policies:
        note(f"{case.name}: {policy}")
        seen = case.loaded(ElasticThreads(policy=POLICY_OF_ENGINE[policy], period_s=case.period_s), phases)
        levels, rates = [period.level for period in seen], [period.tuples_s for period in seen]
        runs.append(external_load.load_run(case.name, "measured", policy, 0, phases, fixed, levels, rates))
    return runs


def graph_runs(effort: RealEffort, cores: int, note: Note, seed: int = 1) -> list[multilevel.MultiLevelRun]:
    """Multi-level elasticity on MULTILEVEL's graphs, beside no queues and all queues."""
    runs = []
    levels, rate_flop_s = range(1, 2 * cores + 1), flop_s()
    with OneAtATime() as elements:
        for number, model in enumerate(real_multilevel_models(effort.blocks, seed, quick=effort.quick)):
            costs = "skewed" if len({o.cpu_s for o in model.operators[1:-1]}) > 1 else "balanced"
            cell = Cell(model.name, costs, model.block_tuples, cores, "real")
            note(f"{number}: {cell}")
            period_s = period_of(model, effort.graph_period_s, rate_flop_s)
            case = real_case(str(cell), model, levels, elements, cores=cores, period_s=period_s)
            runs.append(multilevel.measure(cell, case, seed))
    return runs


def exhaustive_runs(effort: RealEffort, cores: int, note: Note, seed: int = 1) -> list[multilevel.MultiLevelRun]:
    """Graphs of at most eight operators beside the best of all placements at all levels.

    A case takes `exhaustive_s`, half a minute more for the last ones, and what the policies take to settle.
    """
    costs: dict[str, Costs] = {"10,000 flop": balanced(10_000), "skewed": skewed(seed, heavy=0.25, medium=0.35)}
    cells = [(shape, name) for shape in effort.exhaustive_shapes for name in costs]
    runs = []
    with OneAtATime() as elements:
        for number, (shape, name) in enumerate(cells):
            model = SMALL_SHAPES[shape](costs[name], _EXHAUSTIVE_BLOCK)
            cell = Cell(shape, name, _EXHAUSTIVE_BLOCK, cores, "real")
            title = f"case {number + 1} of {len(cells)}: {cell}"
            note(f"{title}: policies")
            case = real_case(
                title, model, range(1, cores + 1), elements, cores=cores, period_s=effort.graph_period_s,
                fixed_periods=1 if effort.quick else 2,
            )  # fmt: skip
            runs.append(multilevel.measure_small(cell, case, seed, seconds=effort.exhaustive_s, note=note))
    return runs


def change_run(
    rules: str, cores: int, *, period_s: float, periods: int, operators: int = 100, seed: int = 1
) -> ChangeRun:
    """10 % heavy operators become 90 % half-way; throughput is relative to the best simple way, measured alike."""
    before, after = (pipeline(operators, skewed(seed, part, 0.05), block_tuples=64) for part in (0.1, 0.9))
    levels = range(1, 2 * cores + 1)
    half = periods // 2
    with RealElement(before, max_level=max(levels), period_s=period_s) as element:
        steps = []
        for step in run_periods(element, MultiLevel(replace(RULES[rules], seed=seed)), periods):
            steps.append(step)
            if step.period == half - 1:
                element.change(after)
    old, new = steps[half - 1].next_setting, steps[-1].next_setting
    with OneAtATime() as elements:
        rates = [_rates(model, levels, elements, cores, period_s, (old, new)) for model in (before, after)]
    ratios = rates[0][1] / rates[0][0], rates[1][2] / rates[1][0], rates[1][1] / rates[1][0]
    return change_run_of(rules, seed, steps, half, *ratios)


def _rates(
    model: ElementModel, levels: range, elements: OneAtATime, cores: int, period_s: float,
    settings: tuple[ElementSetting, ElementSetting],
) -> tuple[float, float, float]:  # fmt: skip
    """Tuples per second of the best simple way, and of two settings."""
    case = real_case("change", model, levels, elements, cores=cores, period_s=period_s)
    simple = [ElementSetting(1), *(ElementSetting(level, frozenset(model.names)) for level in levels)]
    best = max(case.fixed_tuples_s(setting) for setting in simple)
    one, other = settings
    return best, case.fixed_tuples_s(one), case.fixed_tuples_s(other)
