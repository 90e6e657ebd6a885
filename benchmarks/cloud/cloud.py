"""CLOUD's figures on the twin, their goals, and their pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from rich.console import Console

from benchmarks.cloud.granularity import ChainSearch, GraphSearch, chain_search, graph_search
from benchmarks.cloud.packing_ratio import worst_ratio
from benchmarks.cloud.scopes import scopes
from benchmarks.cloud.volatility import volatility
from benchmarks.machine import Machine
from benchmarks.pictures import figure_of, plain
from benchmarks.report import Show, table_of, verdict


@dataclass(frozen=True, slots=True)
class CloudEffort:
    seeds: int = 20
    simulations: int = 1000
    graph_simulations: int = 200
    graph_seconds: float = 30.0
    packings: int = 200
    scope_seconds: float = 2000.0


QUICK = CloudEffort(4, 400, 100, 10.0, 40, 400.0)


@dataclass(frozen=True, slots=True)
class Cloud:
    """What was found for each figure."""

    latency_by_second: dict[str, list[float]]
    latency_by_scope: dict[str, float]
    chains: list[ChainSearch]
    graphs: list[GraphSearch]
    packing_ratio: float


def measure(effort: CloudEffort, show: Show) -> Cloud:
    show("figure 2")
    runs = [volatility(seed) for seed in range(1, 6)]
    by_second = {name: [mean(own) for own in zip(*(run[name] for run in runs), strict=True)] for name in runs[0]}
    show("figure 3")
    by_scope = scopes(range(1, 6), effort.scope_seconds)
    chains, graphs = [], []
    for seed in range(1, effort.seeds + 1):
        show(f"figures 4a and 4b, seed {seed}")
        chains.append(chain_search(seed, effort.simulations))
        graphs.append(graph_search(seed, effort.graph_simulations, effort.graph_seconds))
    return Cloud(by_second, by_scope, chains, graphs, worst_ratio(effort.packings))


def summary(found: Cloud) -> dict[str, Any]:
    over_random = [own.genetic_s / own.random_s for own in found.chains]
    needed = [own.simulations_needed for own in found.graphs]
    return {
        "optimum_gap_median": median(own.genetic_s / own.best_s - 1 for own in found.chains),
        "ga_over_random": median(over_random), "ga_better_than_random": sum(own < 1 for own in over_random),
        "seeded_faster": sum(seeded < scratch for scratch, seeded in needed), "seeds": len(found.chains),
        "packing_ratio_worst": found.packing_ratio, "latency_by_scope_s": found.latency_by_scope,
        "latency_by_schedule_s": {name: mean(own) for name, own in found.latency_by_second.items()},
        "goals_missed": missed(found),
    }  # fmt: skip


def missed(found: Cloud) -> list[str]:
    """The goals of the issue that were not reached, in words."""
    seeds = len(found.chains)
    needed = [own.simulations_needed for own in found.graphs]
    over_random = [own.genetic_s / own.random_s for own in found.chains]
    by_schedule = {name: mean(own) for name, own in found.latency_by_second.items()}
    scope = found.latency_by_scope
    reached = {
        "unpinned has the lowest latency (figure 2)": min(by_schedule, key=by_schedule.__getitem__) == "unpinned",
        "Global > Local >= Tiered (figure 3)": scope["global"] > scope["local"] >= scope["tiered"],
        "within 1 % of the optimum in the median": median(o.genetic_s / o.best_s for o in found.chains) <= 1.01,
        "0.97 of random search": median(over_random) <= 0.97,
        "better than random search in 18 of 20": sum(own < 1 for own in over_random) >= 0.9 * seeds,
        "seeded faster in 18 of 20": sum(seeded < scratch for scratch, seeded in needed) >= 0.9 * seeds,
        "packing within 1.10 of brute force": found.packing_ratio <= 1.10,
    }
    return [name for name, is_reached in reached.items() if not is_reached]


def print_report(console: Console, found: Cloud, machine: Machine) -> None:
    console.print("CLOUD on the twin")
    console.print(str(machine), soft_wrap=True)
    schedules = table_of("figure 2, simulated: mean latency (s)", "schedule", "all", "burst, 10-20 s", "slow, 40-50 s")
    for name, own in found.latency_by_second.items():
        schedules.add_row(name, *(f"{mean(part):.3f}" for part in (own, own[10:20], own[40:50])))
    console.print(schedules)
    by_scope = table_of("figure 3: mean latency (s)", "scope", "latency")
    for name, latency_s in found.latency_by_scope.items():
        by_scope.add_row(name, f"{latency_s:.4f}")
    console.print(by_scope)
    figures = summary(found)
    over = f"{figures['optimum_gap_median']:.2%} above the optimum in the median"
    against_random = f"{figures['ga_over_random']:.3f} of random search"
    better = f"better in {figures['ga_better_than_random']} of {figures['seeds']}"
    console.print(f"figure 4b: {over}, {against_random}, {better}", soft_wrap=True)
    console.print(f"figure 4a: seeded needs fewer simulations in {figures['seeded_faster']} of {figures['seeds']}")
    console.print(f"packing: at worst {found.packing_ratio:.3f} of brute force")
    console.print(verdict(figures["goals_missed"]))


def draw(found: Cloud, folder: Path) -> None:
    """One picture with the four figures."""
    folder.mkdir(parents=True, exist_ok=True)
    figure = figure_of(10, 7)
    second, third, graph, line = figure.subplots(2, 2).flat
    for name, own in found.latency_by_second.items():
        is_own = name == "unpinned"
        second.plot(own, label=name, linewidth=2 if is_own else 1, color="black" if is_own else None)
    second.set_yscale("log")
    second.legend(fontsize=7)
    plain(second, "figure 2, simulated", "arrival (s)", "latency (s)")
    third.bar(list(found.latency_by_scope), list(found.latency_by_scope.values()))
    plain(third, "figure 3", "scope", "latency (s)")
    for searched in found.graphs:
        for history, colour in ((searched.scratch, "tab:orange"), (searched.seeded, "tab:blue")):
            graph.step(*zip(*history, strict=True), where="post", color=colour, alpha=0.4)
    graph.set_yscale("log")
    plain(graph, "figure 4a: from scratch (orange), seeded (blue)", "simulations", "best latency (s)")
    line.plot([one.genetic_s for one in found.chains], "o", label="genetic")
    line.plot([one.random_s for one in found.chains], "x", label="random")
    line.axhline(found.chains[0].best_s, color="black", label="optimum")
    line.legend(fontsize=7)
    plain(line, "figure 4b", "seed", "latency (s)")
    figure.savefig(folder / "cloud.png", dpi=120)
