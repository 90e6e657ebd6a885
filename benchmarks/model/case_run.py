"""Measures a case on Spark: every fusion at every rate, in rounds, so that a drift of the machine falls on all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.model.cases import Case, Groups
from penstock.app.graph import Graph
from penstock.model.costs.learning.samples import Sample, middle, samples_of
from penstock.plan.configuration import Configuration
from penstock.plan.plan import plan_of
from penstock.runtime.profiling.profiled_graph import with_first_rate
from penstock.runtime.profiling.rate_plan import FIRST_RATE, next_probe, rates_below
from penstock.spark.profiling.rate_run import RateRun
from penstock.spark.session.session import Session

LEARNED, PREDICTED, FEW = (0.2, 0.5, 1.0), (0.35, 0.75, 0.9), (0.75,)  # of the highest rate
ROUNDS = 3
_PROBE_S = 0.5
_FIXED_S = 0.15  # of a micro-batch, about: the search for the highest rate goes by the rest
_FULL = 0.05  # a micro-batch that takes its second but for this needs no further try
Visit = tuple[Groups, int]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A fusion at a rate: the medians of all rounds, and each round by itself."""

    groups: Groups
    rate: int
    ratio: float
    sample: Sample
    rounds: tuple[Sample, ...]
    elements: Mapping[str, tuple[str, ...]]

    def operators_of(self, element: str) -> tuple[str, ...]:
        return self.elements[element]


@dataclass(slots=True)
class CaseRun:
    """One application on Spark, from its highest rate down."""

    case: Case
    session: Session
    seconds: float
    rounds: int = ROUNDS
    graph: Graph = field(init=False)
    highest: int = 0

    def __post_init__(self) -> None:
        self.graph = self.case.graph

    def measured(self, wanted: Sequence[tuple[Groups, float]]) -> list[Measurement]:
        """Fusions at shares of the highest rate, for every ratio of the sources."""
        found = list[Measurement]()
        for ratio in self.case.ratios:
            graph = self.case.graph if ratio == 1.0 else with_first_rate(self.case.graph, ratio)
            first = configured(graph, self.case.learned)
            with RateRun(graph, replace(first, micro_batch_tuples=FIRST_RATE), self.session) as run:
                if not self.highest:
                    self.highest = self._highest(run, first)
                visits = [(fusion, max(round(self.highest * share), 1)) for fusion, share in wanted]
                found += self._visited(run, graph, visits, ratio)
        return found

    def _highest(self, run: RateRun, configuration: Configuration) -> int:
        probes: list[tuple[int, Sample]] = []
        rate: int | None = FIRST_RATE
        while rate is not None:
            seen = run.visit(configuration, rate, _PROBE_S, lambda share: None)
            probes.append((rate, one_size(samples_of(seen, undisturbed=True))))
            rate = next_probe(rate, probes[-1][1])
        return rates_below(probes)[-1]

    def _visited(self, run: RateRun, graph: Graph, visits: Sequence[Visit], ratio: float) -> list[Measurement]:
        known: dict[Visit, list[Sample]] = {visit: [] for visit in visits}
        for number in range(self.rounds):
            for groups, rate in visits if number % 2 else visits[::-1]:
                seen = run.visit(configured(graph, groups), rate, self.seconds / self.rounds, lambda share: None)
                known[groups, rate].append(one_size(samples_of(seen, undisturbed=True)))
        found = []
        for (groups, rate), rounds in known.items():
            elements = {e.name: e.operators for e in plan_of(graph, configured(graph, groups)).elements}
            found.append(Measurement(groups, rate, ratio, middle(rounds), tuple(rounds), elements))
        return found

    def searched_rate(self, groups: Groups, guess: float, tries: int = 3) -> float:
        """The rate at which a micro-batch takes its second, found by going there, `tries` times at most."""
        rate, cap_ratio = guess, 1.0  # sources of unequal rates do not fill a cap, which they share evenly
        with RateRun(self.graph, configured(self.graph, groups, round(guess)), self.session) as run:
            for _ in range(tries):
                cap = max(round(rate * cap_ratio), 1)
                seen = run.visit(configured(self.graph, groups), cap, self.seconds, lambda share: None)
                own = one_size(samples_of(seen, undisturbed=True))
                cap_ratio = cap / own.tuples
                rate = own.tuples + (1.0 - own.wall_s) * own.tuples / max(own.wall_s - _FIXED_S, _FIXED_S)
                if abs(own.wall_s - 1.0) <= _FULL:
                    break
        return rate


def configured(graph: Graph, groups: Groups, tuples: int | None = None) -> Configuration:
    """A fusion on one replica of each element."""
    found = Configuration.of(graph, 1).with_fusion(graph, groups)
    return found if tuples is None else replace(found, micro_batch_tuples=max(tuples, 1))


def one_size(samples: Sequence[Sample]) -> Sample:
    """The size that most micro-batches of a visit had."""
    return max(samples, key=lambda sample: sample.batches)
