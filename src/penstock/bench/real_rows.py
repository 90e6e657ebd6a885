"""The rows of the element benches that are measured on this machine, beside those of the plant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.bench import elastic_operator, external_load, multilevel
from penstock.bench.element_case import best_fixed
from penstock.bench.multilevel_cases import BLOCKS, SMALL_SHAPES, Cell
from penstock.bench.real_cases import (
    OneAtATime,
    real_case,
    real_elastic_cases,
    real_load_case,
    real_multilevel_models,
)
from penstock.bench.real_change import change_run
from penstock.bench.real_side_by_side import side_by_side
from penstock.simulate.element_shapes import Costs, balanced, skewed

Note = Callable[[str], object]
_EXHAUSTIVE_BLOCK = 64


@dataclass(frozen=True, slots=True)
class RealEffort:
    """How long real elements are measured: seconds of a period, periods of a run and of each phase of external load.

    `exhaustive_s` is for the search among all settings of each of the small graphs.
    """

    period_s: float = 1.0
    periods: int = 90
    phase_periods: int = 30
    graph_period_s: float = 0.25
    graph_periods: int = 80
    policies: tuple[str, ...] = ("leaping", "listing")
    blocks: tuple[int, ...] = BLOCKS
    exhaustive_shapes: tuple[str, ...] = ("pipeline 8", "data-parallel 7", "mixed 2 x 3")
    exhaustive_s: float = 30.0
    quick: bool = False


QUICK = RealEffort(
    period_s=0.2, periods=30, phase_periods=12, graph_period_s=0.1, graph_periods=30, policies=("leaping",),
    blocks=(64,), exhaustive_shapes=("mixed 2 x 3",), exhaustive_s=4.0, quick=True,
)  # fmt: skip


def elastic_runs(effort: RealEffort, cores: int, note: Note) -> list[elastic_operator.ElasticRun]:
    """The elastic operator over computing and waiting loads, beside every fixed level."""
    runs = []
    with OneAtATime() as running:
        for case in real_elastic_cases(running, cores, effort.period_s):
            note(f"{case.name}: fixed levels")
            best = best_fixed(case)
            for policy in effort.policies:
                note(f"{case.name}: {policy}")
                runs.append(elastic_operator.measure(case, policy, 0, effort.periods, best))
    return runs


def side_by_side_runs(effort: RealEffort, cores: int, note: Note) -> list[elastic_operator.SideBySide]:
    """Four elastic operators that compete for the cores of this machine."""
    runs = []
    for policy in effort.policies:
        note(f"four operators side by side: {policy}")
        runs.append(side_by_side(policy, cores, period_s=effort.period_s, periods=effort.periods // 2))
    return runs


def change_runs(effort: RealEffort, cores: int, note: Note) -> list[multilevel.ChangeRun]:
    """10 % heavy operators become 90 % while a real element runs."""
    note("a workload that changes")
    period_s, periods = effort.graph_period_s, 2 * effort.graph_periods
    return [change_run("pieces", cores, period_s=period_s, periods=periods, operators=30 if effort.quick else 100)]


def load_runs(effort: RealEffort, cores: int, note: Note) -> list[external_load.LoadRun]:
    """The heavy load while other processes peg cores and let them go."""
    phases = external_load.schedule(cores, effort.phase_periods)
    with OneAtATime() as running:
        case = real_load_case(running, cores, phases, effort.period_s)
        note(f"{case.name}: fixed levels")
        fixed = external_load.fixed_rates_tuples_s(case, phases, 0)
        runs = []
        for policy in effort.policies:
            note(f"{case.name}: {policy}")
            runs.append(external_load.measure(case, policy, phases, 0, fixed))
    return runs


def graph_runs(effort: RealEffort, cores: int, note: Note, seed: int = 1) -> list[multilevel.MultiLevelRun]:
    """Multi-level elasticity on MULTILEVEL's graphs, beside no queues and all queues."""
    runs = []
    levels = range(1, 2 * cores + 1)
    with OneAtATime() as running:
        for number, model in enumerate(real_multilevel_models(effort.blocks, seed, quick=effort.quick)):
            costs = "skewed" if len({o.cpu_s for o in model.operators[1:-1]}) > 1 else "balanced"
            cell = Cell(model.name, costs, model.block_tuples, cores, "real")
            note(f"{number}: {cell}")
            case = real_case(str(cell), model, levels, running, cores=cores, period_s=effort.graph_period_s)
            runs.append(multilevel.measure(cell, case, seed))
    return runs


def exhaustive_runs(effort: RealEffort, cores: int, note: Note, seed: int = 1) -> list[multilevel.MultiLevelRun]:
    """Graphs of at most eight operators beside the best of all placements at all levels.

    A case takes `exhaustive_s`, half a minute more for the last ones, and what the policies take to settle.
    """
    costs: dict[str, Costs] = {"10,000 flop": balanced(10_000), "skewed": skewed(seed, heavy=0.25, medium=0.35)}
    cells = [(shape, name) for shape in effort.exhaustive_shapes for name in costs]
    runs = []
    with OneAtATime() as running:
        for number, (shape, name) in enumerate(cells):
            model = SMALL_SHAPES[shape](costs[name], _EXHAUSTIVE_BLOCK)
            cell = Cell(shape, name, _EXHAUSTIVE_BLOCK, cores, "real")
            title = f"case {number + 1} of {len(cells)}: {cell}"
            note(f"{title}: policies")
            case = real_case(
                title, model, range(1, cores + 1), running, cores=cores, period_s=effort.graph_period_s,
                fixed_periods=1 if effort.quick else 2,
            )  # fmt: skip
            runs.append(multilevel.measure_small(cell, case, seed, seconds=effort.exhaustive_s, note=note))
    return runs
