"""Figures 4a and 4b: the search for partitions, from scratch and seeded, against random search and the optimum."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from benchmarks.simulator.speed_cases import figure_4a, figure_4a_nodes
from penstock import twin

CHAIN, MERGE_S = 10, 0.002
_WORK_S = (0.2, 0.45, 0.1, 0.8, 0.3, 0.6, 0.15, 1.0, 0.25, 0.5)
_CHAIN_NODES = twin.Nodes((twin.Node("n", count=4, cores=16),))
_RATE = 0.1


@dataclass(frozen=True, slots=True)
class ChainSearch:
    """One seed of Figure 4b: what both methods found with as many simulations, and the closed form."""

    genetic_s: float
    random_s: float
    best_s: float


@dataclass(frozen=True, slots=True)
class GraphSearch:
    """One seed of Figure 4a: improvements from scratch and from the plan for 0.7 of the rate."""

    scratch: tuple[tuple[int, float], ...]
    seeded: tuple[tuple[int, float], ...]

    @property
    def simulations_needed(self) -> tuple[int, int]:
        """Until each was within 2 % of the best of both; one more than it had where it never was."""
        best_s = min(self.scratch[-1][1], self.seeded[-1][1])
        return _needed(self.scratch, best_s), _needed(self.seeded, best_s)


def _needed(history: tuple[tuple[int, float], ...], best_s: float) -> int:
    near = [simulations for simulations, own_s in history if own_s <= 1.02 * best_s]
    return near[0] if near else history[-1][0] + 1


def chain() -> twin.Model:
    """Ten operators in a row that never wait: latency = sum of W / p + h p."""
    operators = [
        twin.Operator(f"o{n}", ("s" if n == 0 else f"o{n - 1}",), twin.constant(work_s), merge_s=MERGE_S)
        for n, work_s in enumerate(_WORK_S)
    ]
    return twin.Model([twin.Source("s", twin.constant(_RATE))], operators)


def chain_optimum_s() -> float:
    """W / p + h p is least at the whole number before or after sqrt(W / h)."""
    found = 0.0
    for work_s in _WORK_S:
        near = int(sqrt(work_s / MERGE_S))
        found += min(work_s / p + MERGE_S * p for p in (max(near, 1), near + 1))
    return found


def chain_search(seed: int, simulations: int) -> ChainSearch:
    model, seconds = chain(), 5 / _RATE
    genetic, by_chance = (
        twin.search(model, _CHAIN_NODES, simulations=simulations, method=method, seed=seed, seconds=seconds)
        for method in ("genetic", "random")
    )
    return ChainSearch(genetic.objective_s, by_chance.objective_s, chain_optimum_s())


def graph_search(seed: int, simulations: int, seconds: float) -> GraphSearch:
    nodes = figure_4a_nodes()
    now, before = figure_4a(0.6, merge_s=0.02), figure_4a(0.42, merge_s=0.02)
    deployed = twin.search(before, nodes, simulations=simulations, seed=seed + 1000, seconds=seconds)
    scratch = twin.search(now, nodes, simulations=simulations, seed=seed, seconds=seconds)
    seeded = twin.search(now, nodes, simulations=simulations, seed=seed, seconds=seconds, start=deployed.partitions)
    return GraphSearch(scratch.history, seeded.history)
