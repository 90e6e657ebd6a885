"""The strategies of PROACTIVE on the queue model, and whether its Results 1-4 point the same way here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from penstock.bench.saso_loads import generated_loads
from penstock.bench.saso_metrics import Saso, measure
from penstock.control.goal import Goal, latency, throughput
from penstock.control.loop import Loop
from penstock.control.mpc_presets import PAPER_GRID, Strategy, Workload, paper_strategy
from penstock.control.setting import Setting
from penstock.simulate.plant_shape import PlantShape
from penstock.simulate.queue_plant import QueuePlant

STRATEGIES: tuple[Strategy, ...] = ("Th-Node", "Th-Power", "Lat-Node", "Lat-Power")
WORKLOADS: dict[str, Workload] = {"random_walk": "random_walk", "trading_day": "real"}
MODES = (("NoSw", False, 1), ("Sw h=1", True, 1), ("Sw h=2", True, 2), ("Sw h=3", True, 3))
_THRESHOLD_S = 1.0
_SHAPE = PlantShape(overhead_s=0.05, interval_s=0.1)
_CAP_TUPLES = 3000  # micro-batches of about a second at worst, since the paper's operator takes tuples one by one


@dataclass(frozen=True, slots=True)
class PaperRun:
    """One strategy in one mode under one load, averaged over seeds."""

    strategy: str
    load: str
    mode: str
    reconfigurations: float
    violations: float
    amplitude: float
    mean_replicas: float
    watts_estimated: float


def run_paper(seeds: Sequence[int], strategies: Sequence[Strategy] = STRATEGIES) -> list[PaperRun]:
    """Every strategy without and with switching cost, at horizons of one to three steps."""
    return [
        _averaged(strategy, load, mode, [_run(strategy, load, switching, horizon, seed) for seed in seeds])
        for strategy in strategies
        for load in WORKLOADS
        for mode, switching, horizon in MODES
    ]


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
        lambda: QueuePlant(_SHAPE, load.arrivals, start, end_s=load.end_s, seed=seed), Loop(policy, goal), grid
    )[0]


def _averaged(strategy: str, load: str, mode: str, runs: Sequence[Saso]) -> PaperRun:
    def average(figure: Callable[[Saso], float]) -> float:
        return mean(figure(run) for run in runs)

    return PaperRun(
        strategy, load, mode,
        average(lambda r: r.reconfigurations), average(lambda r: r.violations), average(lambda r: r.amplitude),
        average(lambda r: r.mean_replicas), average(lambda r: r.watts_estimated),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Direction:
    """What a Result says of two modes, and the mean of both over all strategies and loads."""

    result: str
    claim: str
    left: float
    right: float

    @property
    def holds(self) -> bool:
        return self.left <= self.right


def directions(runs: Sequence[PaperRun]) -> list[Direction]:
    """Results 1-4 as inequalities (left <= right), over the means of everything that was run."""

    def of(mode: str, figure: Callable[[PaperRun], float]) -> float:
        return mean(figure(run) for run in runs if run.mode == mode)

    def changes(run: PaperRun) -> float:
        return run.reconfigurations

    def watts(run: PaperRun) -> float:
        return run.watts_estimated

    def violations(run: PaperRun) -> float:
        return run.violations

    def size(run: PaperRun) -> float:
        return run.amplitude

    return [
        Direction("1", "switching cost: fewer reconfigurations", of("Sw h=1", changes), of("NoSw", changes)),
        Direction("1", "a longer horizon takes some back", of("Sw h=1", changes), of("Sw h=3", changes)),
        Direction("2", "switching cost overshoots", of("NoSw", watts), of("Sw h=1", watts)),
        Direction("2", "a longer horizon overshoots less", of("Sw h=3", watts), of("Sw h=1", watts)),
        Direction("3", "switching cost: fewer violations", of("Sw h=1", violations), of("NoSw", violations)),
        Direction("3", "a longer horizon has more of them", of("Sw h=1", violations), of("Sw h=3", violations)),
        Direction("4", "switching cost: smaller changes", of("Sw h=1", size), of("NoSw", size)),
        Direction("4", "a longer horizon makes larger ones", of("Sw h=1", size), of("Sw h=3", size)),
    ]
