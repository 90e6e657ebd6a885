"""The strategies of PROACTIVE on the twin, and whether its Results 1-4 point the same way here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean

from benchmarks.saso.loads import generated_loads
from benchmarks.saso.metrics import Saso, measure
from penstock.control.goals.goal import Goal, latency, throughput
from penstock.control.loop.loop import Loop
from penstock.control.mpc.presets import PAPER_GRID, Strategy, Workload, paper_strategy
from penstock.control.setting import Setting
from penstock.simulate.plant_shape import PlantShape
from penstock.simulate.shape_plant import shape_plant

STRATEGIES: tuple[Strategy, ...] = ("Th-Node", "Th-Power", "Lat-Node", "Lat-Power")
WORKLOADS: dict[str, Workload] = {"random_walk": "random_walk", "trading_day": "real"}
MODES = (("NoSw", False, 1), ("Sw h=1", True, 1), ("Sw h=2", True, 2), ("Sw h=3", True, 3))
PAPER_FIGURES = ("reconfigurations", "violations", "amplitude", "mean_replicas", "watts_estimated")
_THRESHOLD_S = 1.0
_SHAPE = PlantShape(overhead_s=0.05, interval_s=0.1)
_CAP_TUPLES = 3000  # micro-batches of about a second at worst, since the paper's operator takes tuples one by one


@dataclass(frozen=True, slots=True)
class PaperRun:
    """One strategy in one mode under one load with one seed."""

    strategy: str
    load: str
    mode: str
    seed: int
    reconfigurations: float
    violations: float
    amplitude: float
    mean_replicas: float
    watts_estimated: float


def run_paper(seeds: Sequence[int], strategies: Sequence[Strategy] = STRATEGIES) -> list[PaperRun]:
    """Every strategy without and with switching cost, at horizons of one to three steps."""
    return [
        PaperRun(strategy, load, mode, seed, *_means([_run(strategy, load, switching, horizon, seed)]))
        for strategy in strategies
        for load in WORKLOADS
        for mode, switching, horizon in MODES
        for seed in seeds
    ]


def _means(runs: Sequence[Saso | PaperRun]) -> list[float]:
    return [mean(getattr(run, name) for run in runs) for name in PAPER_FIGURES]


def averaged(runs: Sequence[PaperRun]) -> list[PaperRun]:
    """The mean over seeds of each strategy, load and mode; `seed` is then how many there were."""
    groups: dict[tuple[str, str, str], list[PaperRun]] = {}
    for run in runs:
        groups.setdefault((run.strategy, run.load, run.mode), []).append(run)
    return [PaperRun(*names, len(own), *_means(own)) for names, own in groups.items()]


def _run(strategy: Strategy, load_name: str, switching: bool, horizon: int, seed: int) -> Saso:
    (load,) = generated_loads(_SHAPE.highest_replicas / _SHAPE.service_s, seed, [load_name])
    goal: Goal = throughput() if strategy.startswith("Th") else latency(mean_ms=1000 * _THRESHOLD_S)
    policy = paper_strategy(
        strategy, WORKLOADS[load_name], switching=switching, horizon=horizon, threshold_s=_THRESHOLD_S,
        interval_s=_SHAPE.interval_s,
    )  # fmt: skip
    start = Setting(6, 2.0, _CAP_TUPLES)
    grid = replace(PAPER_GRID, caps_tuples=(_CAP_TUPLES,))
    policy = replace(policy, grid=replace(policy.grid, caps_tuples=(_CAP_TUPLES,)))
    return measure(
        lambda: shape_plant(_SHAPE, load.arrivals, start, end_s=load.end_s, seed=seed), Loop(policy, goal), grid
    )[0]


@dataclass(frozen=True, slots=True)
class Direction:
    """What a Result says of two modes (left <= right), the means of both, and in how many seeds it holds."""

    result: str
    claim: str
    left: float
    right: float
    seeds_holding: int
    seeds: int

    @property
    def holds(self) -> bool:
        """In the mean, and in most seeds: a mean alone can be the work of one."""
        return self.left <= self.right and 2 * self.seeds_holding > self.seeds


def directions(runs: Sequence[PaperRun]) -> list[Direction]:
    """Results 1-4 as inequalities, over the means of all strategies and loads."""
    changes, violations, size, _, watts = PAPER_FIGURES
    found = [
        _direction(runs, "1", "switching cost: fewer reconfigurations", changes, "Sw h=1", "NoSw"),
        _direction(runs, "2", "switching cost overshoots", watts, "NoSw", "Sw h=1"),
        _direction(runs, "3", "switching cost: fewer violations", violations, "Sw h=1", "NoSw"),
        _direction(runs, "4", "switching cost: smaller changes", size, "Sw h=1", "NoSw"),
    ]
    for longer in ("Sw h=2", "Sw h=3"):
        horizon = longer[3:]
        found += [
            _direction(runs, "1", f"{horizon} takes some of it back", changes, "Sw h=1", longer),
            _direction(runs, "2", f"{horizon} overshoots less", watts, longer, "Sw h=1"),
            _direction(runs, "3", f"{horizon} has more violations", violations, "Sw h=1", longer),
            _direction(runs, "4", f"{horizon} makes larger changes", size, "Sw h=1", longer),
        ]
    return found


def _direction(runs: Sequence[PaperRun], result: str, claim: str, figure: str, left: str, right: str) -> Direction:
    def of(mode: str, seed: int) -> float:
        return float(mean(getattr(run, figure) for run in runs if run.mode == mode and run.seed == seed))

    seeds = sorted({run.seed for run in runs})
    pairs = [(of(left, seed), of(right, seed)) for seed in seeds]
    holding = sum(a <= b for a, b in pairs)
    return Direction(result, claim, mean(a for a, _ in pairs), mean(b for _, b in pairs), holding, len(seeds))
