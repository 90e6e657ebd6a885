"""The search for partitions with low latency by simulation: CLOUD 4.2's genetic algorithm, and random search beside it.

CLOUD gives no numbers: a population of 40, of which the worse half dies; of 40, 25 % are bred from two of the better
ones, 15 % are mutated copies, the rest new at random; it ends after 15 generations that gain less than 0.1 %.  Beside
a running plan nothing new at random is as good: the rest is mutated children then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from penstock.app.application import Application
from penstock.arguments import PATH, Rule, check_arguments, is_whole, kind, number, or_none, whole
from penstock.errors import InputError, did_you_mean
from penstock.host.cores import own_cores
from penstock.plan.configuration import Configuration
from penstock.plan.nodes import Nodes
from penstock.plan.nodes import nodes as read_nodes
from penstock.simulate.events.kernel.random_draws import stream_seed
from penstock.simulate.events.model import MOST_PARTITIONS, Model
from penstock.simulate.search_spaces import ApplicationSpace, Candidate, ModelSpace
from penstock.simulate.simulation import NODES, checked_model, fitted_application, refuse_costs_of_runs

GOALS = ("latency_mean", "latency_p95")
METHODS = ("genetic", "random")
POPULATION, SURVIVORS, CHILDREN, MUTANTS = 40, 20, 10, 6
PATIENCE, GAIN = 15, 0.001
_PARENTS, _MUTATED = 10, 4  # of the best: those that are bred, those that are mutated
_SCALES = (0.5, 0.67, 0.8, 1.25, 1.5, 2.0)  # of a running plan, as it may be for another rate
_START = Rule(
    "a ps.Configuration or a dict of partitions by operator",
    lambda value: (
        isinstance(value, Configuration)
        or (isinstance(value, Mapping) and all(isinstance(k, str) and is_whole(v, 1) for k, v in value.items()))
    ),
)


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found: `history` has (simulations, best_s) for each improvement, and the end.

    `partitions`: of each operator of a model; of an application, replicas by element.  `plan`: the same as a
    Configuration, with the partitions of an operator as replicas of an element of that name.

    `twin.search(model, nodes)` gives one.

    >>> Search({"work": 2}, 0.1, ((10, 0.2), (25, 0.1)), Configuration(()), 25).history[-1]
    (25, 0.1)
    """

    partitions: Mapping[str, int]
    objective_s: float
    history: tuple[tuple[int, float], ...]
    plan: Configuration
    simulations: int


def search(
    model: Model | Application,
    nodes: Nodes | str | Path,
    goal: str = "latency_mean",
    simulations: int = 1000,
    method: str = "genetic",
    start: Mapping[str, int] | Configuration | None = None,
    seed: int = 1,
    seconds: float | None = None,
    most_partitions: int | None = None,
    progress: Callable[[int, float], None] | None = None,
    *,
    from_journal: str | Path | None = None,
    from_profile: str | Path | None = None,
) -> Search:
    """The partitions of each operator with the lowest latency, found with so many simulations.

    Of an application, which needs `from_journal` or `from_profile` as `twin.simulate` does, the replicas of each
    element in micro-batches.  `start`: partitions to begin from, or a running plan; the first population is then
    varied copies of it.  `seconds`: simulated time of each candidate; else as long as 400 blocks take to come, or
    a minute of micro-batches.  `most_partitions`: else as many as there are cores.  All candidates meet the same
    arrivals.  `progress` gets simulations and the best so far.

    >>> from penstock import twin
    >>> model = twin.Model(
    ...     [twin.Source("s", twin.constant(0.1))],
    ...     [twin.Operator("a", ("s",), twin.constant(0.9), merge_s=0.1)],
    ... )
    >>> twin.search(model, twin.Nodes((twin.Node("n1", cores=8),)), simulations=60).partitions
    {'a': 3}
    """
    check_arguments(
        "twin.search", nodes=(nodes, NODES), simulations=(simulations, whole(1)), start=(start, or_none(_START)),
        seed=(seed, whole()), seconds=(seconds, or_none(number(above=0))),
        most_partitions=(most_partitions, or_none(whole(1, MOST_PARTITIONS))),
        progress=(progress, or_none(Rule("a function", callable))), goal=(goal, kind("text", str)),
        method=(method, kind("text", str)), from_journal=(from_journal, or_none(PATH)),
        from_profile=(from_profile, or_none(PATH)),
    )  # fmt: skip
    for name, value, known in (("goal", goal, GOALS), ("method", method, METHODS)):
        if value not in known:
            hint = did_you_mean(value, known)
            raise InputError(f"{name} is one of {', '.join(known)}; got '{value}'" + (f"; {hint}" if hint else ""))
    machines = nodes if isinstance(nodes, Nodes) else read_nodes(nodes)
    space: ModelSpace | ApplicationSpace
    if isinstance(model, Application):
        fitted = fitted_application(model, from_journal, from_profile, "twin.search")
        space = ApplicationSpace(model, fitted, machines, goal, seed, seconds)
    else:
        refuse_costs_of_runs("twin.search", from_journal=from_journal, from_profile=from_profile)
        space = ModelSpace(checked_model(model, "twin.search"), machines, goal, seed, seconds)
    most = most_partitions or machines.cores
    first = _first(start, space.names, space.now)
    judge = _Judge(
        space.latency_s, space.now, min(simulations, _all_candidates(first, len(space.names), most)), progress
    )
    draw = _Draw(np.random.default_rng(stream_seed(seed, "search", "candidates")), len(space.names), most)
    (_genetic if method == "genetic" else _random)(judge, draw, first)
    history = (*judge.history, (judge.done, judge.best_s))
    plan = space.plan(judge.best)
    best = {name: plan.element(name).replicas for name in space.names}  # an element that has one only keeps it
    return Search(best, judge.best_s, history, plan, judge.done)


def _first(start: Mapping[str, int] | Configuration | None, names: Sequence[str], now: Candidate) -> Candidate | None:
    """The candidate to begin from; InputError for one that names other operators."""
    if start is None:
        return None
    if isinstance(start, Configuration):
        start = {own.name: own.replicas for own in start.elements}
    for name in start:
        if name not in names:
            hint = did_you_mean(name, names)
            raise InputError(f"start names operator '{name}', which there is not" + (f"; {hint}" if hint else ""))
    return tuple(start.get(name, own) for name, own in zip(names, now, strict=True))


def _all_candidates(first: Candidate | None, operators: int, most: int) -> int:
    """How many there are: a start may lie outside of what is drawn."""
    outside = first is not None and max(first, default=0) > most
    return int(most**operators) + outside


class _Draw:
    """Candidates by chance."""

    def __init__(self, generator: np.random.Generator, operators: int, most: int) -> None:
        self.random, self.operators, self.most = generator, operators, most

    def new(self) -> Candidate:
        return tuple(int(x) for x in self.random.integers(1, self.most + 1, self.operators))

    def child(self, parents: Sequence[Candidate]) -> Candidate:
        """Each operator's partitions from one of two parents."""
        one, other = self.random.choice(min(len(parents), _PARENTS), 2, replace=False)
        takes = self.random.random(self.operators) < 0.5
        return tuple(a if own else b for a, b, own in zip(parents[one], parents[other], takes, strict=True))

    def mutant(self, parent: Candidate) -> Candidate:
        """Some operators' partitions anew: anything, or near what they were."""
        changed = self.random.random(self.operators) < max(0.15, 1 / self.operators)
        if not changed.any():
            changed[self.random.integers(self.operators)] = True
        anew = self.random.random() < 0.3
        return tuple(self._other(own, anew) if change else own for own, change in zip(parent, changed, strict=True))

    def mutated_child(self, parents: Sequence[Candidate]) -> Candidate:
        return self.mutant(self.child(parents) if len(parents) > 1 else parents[0])

    def scaled(self, parent: Candidate, factor: float) -> Candidate:
        """All operators' partitions by the same factor."""
        return tuple(min(max(round(own * factor), 1), self.most) for own in parent)

    def _other(self, own: int, anew: bool) -> int:
        if anew:
            return int(self.random.integers(1, self.most + 1))
        step = int(self.random.integers(1, max(2, own // 4 + 1))) * (1 if self.random.random() < 0.5 else -1)
        return min(max(own + step, 1), self.most)


class _Judge:
    """Simulates candidates, each once, on all cores; the results do not depend on how many cores there are."""

    def __init__(
        self,
        latency_s: Callable[[Candidate], float],
        now: Candidate,
        simulations: int,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self._latency_s, self._progress = latency_s, progress
        self.most, self.done = simulations, 0
        self.best_s, self.best = float("inf"), now
        self.history: list[tuple[int, float]] = []
        self.known: dict[Candidate, float] = {}

    @property
    def is_over(self) -> bool:
        return self.done >= self.most

    def judge(self, candidates: Sequence[Candidate]) -> None:
        fresh = [own for own in dict.fromkeys(candidates) if own not in self.known][: self.most - self.done]
        with ThreadPoolExecutor(own_cores()) as pool:
            found = list(pool.map(self._latency_s, fresh))
        for candidate, latency_s in zip(fresh, found, strict=True):
            self.known[candidate] = latency_s
            self.done += 1
            if latency_s < self.best_s:
                self.best, self.best_s = candidate, latency_s
                self.history.append((self.done, latency_s))
        if self._progress is not None:
            self._progress(self.done, self.best_s)


def _random(judge: _Judge, draw: _Draw, start: Candidate | None) -> None:
    if start is not None:
        judge.judge([start])
    while not judge.is_over:
        judge.judge([draw.new() for _ in range(POPULATION)])


def _genetic(judge: _Judge, draw: _Draw, start: Candidate | None) -> None:
    population: list[Candidate]
    if start is None:
        population = [draw.new() for _ in range(POPULATION)]
    else:
        population = [start, *(draw.scaled(start, factor) for factor in _SCALES)]
        population += [draw.mutant(start) for _ in range(POPULATION - len(population))]
    judge.judge(population)
    without_gain = 0
    while not judge.is_over and without_gain < PATIENCE:
        before_s, done = judge.best_s, judge.done
        ranked = sorted((own for own in dict.fromkeys(population) if own in judge.known), key=judge.known.__getitem__)
        population = _next_generation(ranked[:SURVIVORS], judge, draw, is_seeded=start is not None)
        judge.judge(population)
        gained = judge.best_s < before_s * (1 - GAIN)
        without_gain = 0 if gained else without_gain + 1
        if judge.done == done:
            break


def _next_generation(
    survivors: list[Candidate], judge: _Judge, draw: _Draw, *, is_seeded: bool = False
) -> list[Candidate]:
    """Survivors, children, mutants and newcomers; those seen before are drawn again, a few times."""
    makers: list[Callable[[], Any]] = [lambda: draw.child(survivors)] * CHILDREN if len(survivors) > 1 else []
    best = survivors[:_MUTATED]
    makers += [lambda: draw.mutant(best[int(draw.random.integers(len(best)))])] * MUTANTS
    newcomer = partial(draw.mutated_child, survivors) if is_seeded else draw.new
    makers += [newcomer] * (POPULATION - len(survivors) - len(makers))
    seen = set(survivors)
    population = list(survivors)
    for make in makers:
        candidate = make()
        for _ in range(10):
            if candidate not in judge.known and candidate not in seen:
                break
            candidate = make()
        seen.add(candidate)
        population.append(candidate)
    return population
