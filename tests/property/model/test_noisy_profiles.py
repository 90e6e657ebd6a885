"""Drawn costs, measured with the noise of a machine: fusions that were never measured come out within the goals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np
import pytest

import penstock as ps
from penstock.app.graph import Graph
from penstock.model.costs.communication import Communication
from penstock.model.costs.learning.learned_profile import Measured, Overhead, learned
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.learning.samples import ElementSample, OperatorSample, Sample, lowest_tenth
from penstock.model.costs.profile import FixedCosts

SOURCE, NAMES = "numbers", ("a", "b", "c")
Groups = tuple[tuple[str, ...], ...]
CUT: Groups = (("a",), ("b",), ("c",))
FUSED: Groups = (("a", "b", "c"),)
TABLE = Communication((8.0, 64.0), (2e7, 8e6), (0.8, 0.9), (0.2, 0.3))
OVERHEAD = Overhead(FixedCosts(0.05, 0.006, 6e-5), TABLE)
WIDTH, HIGHEST = 40.0, 1e6
LEARNED, JUDGED = (0.2, 0.5, 1.0), (0.75, 0.9)  # of the highest rate
BATCHES = 4  # of a visit
REPEAT = 0.02  # deviation of an element's CPU between two micro-batches


@dataclass(frozen=True, slots=True)
class Truth:
    """What a drawn application costs: seconds per tuple by operator, and communication against the table."""

    tuple_s: Mapping[str, float]
    call_s: Mapping[str, float]
    communication: Mapping[str, float]

    def communication_s(self, tuples: float, group: Sequence[str]) -> float:
        sent = TABLE.send(tuples, WIDTH) if group[-1] != NAMES[-1] else 0.0
        received = TABLE.receive(tuples, WIDTH) if group[0] != SOURCE else 0.0
        return self.communication[group[0]] * received + self.communication[group[-1]] * sent

    def cpu_s(self, tuples: float, group: Sequence[str]) -> float:
        streams = (group[-1] != NAMES[-1]) + (group[0] != SOURCE)
        own = sum(self.tuple_s[name] * tuples + self.call_s[name] for name in group)
        return 0.006 + streams * math.ceil(tuples / 32_768) * 6e-5 + own + self.communication_s(tuples, group)


def drawn(chance: np.random.Generator) -> Truth:
    """From a functor that passes tuples on to a regular expression."""
    usual = chance.uniform(0.7, 1.5)
    return Truth(
        {name: float(10 ** chance.uniform(-8.5, -6.3)) for name in (SOURCE, *NAMES)},
        {name: float(chance.uniform(0.0, 0.002)) for name in (SOURCE, *NAMES)},
        {name: float(usual * chance.uniform(0.9, 1.1)) for name in (SOURCE, *NAMES)},
    )  # fmt: skip


def application() -> Graph:
    app = ps.Application("chain")
    stream = app.source(SOURCE, schema={"x": "int64"})
    for name in NAMES:
        stream = stream.functor(name)
    stream.sink("out")
    return app.graph


def visit(truth: Truth, groups: Groups, rate: float, chance: np.random.Generator) -> Measured:
    """The lowest tenths of some micro-batches: each has its own noise, and now and then something else runs."""
    every = ((SOURCE,), *groups)
    elements = {group[0]: _element(truth, group, rate, chance) for group in every}
    return Sample(rate, 0.1, 0.05, None, elements, BATCHES), {group[0]: group for group in every}


def _element(truth: Truth, group: Sequence[str], rate: float, chance: np.random.Generator) -> ElementSample:
    factors = chance.normal(1.0, REPEAT, BATCHES) + np.where(chance.random(BATCHES) < 0.2, 0.3, 0.0)
    cpu_s = lowest_tenth(float(f) * truth.cpu_s(rate, group) for f in factors)
    operators = {
        name: OperatorSample(
            lowest_tenth(
                float(f * chance.normal(1.0, REPEAT / 2)) * (truth.tuple_s[name] * rate + truth.call_s[name])
                for f in factors
            ), rate, rate, WIDTH * rate, WIDTH * rate,
        ) for name in group
    }  # fmt: skip
    every = (SOURCE, *NAMES)
    came = {every[max(every.index(group[0]) - 1, 0)]: rate}
    leaving = {} if group[-1] == NAMES[-1] else {group[-1]: rate}
    widths = [{name: WIDTH * n for name, n in own.items()} for own in (came, leaving)]
    return ElementSample(cpu_s, cpu_s, cpu_s, cpu_s, 1, came, leaving, widths[0], widths[1], operators)


def errors(seed: int, known: Groups, wanted: Groups) -> list[float]:
    """Relative errors of every element of a fusion that was not learned."""
    chance, graph = np.random.default_rng(seed), application()
    truth = drawn(chance)
    scale = HIGHEST * min(1.0, 0.8 / truth.cpu_s(HIGHEST, NAMES))
    profile = learned(facts_of(graph), [visit(truth, known, share * scale, chance) for share in LEARNED], OVERHEAD)
    found = []
    for share in JUDGED:
        predicted = profile.predict({SOURCE: share * scale}, fusion=wanted).elements
        for name, own in visit(truth, wanted, share * scale, chance)[0].elements.items():
            found.append(abs(predicted[name].cpu_cores / own.cpu_s - 1))
    return found


@pytest.mark.parametrize(("known", "wanted"), [(CUT, FUSED), (CUT, (("a", "b"), ("c",))), (FUSED, CUT)])
def test_drawn_chains_are_predicted_within_the_goals(known: Groups, wanted: Groups) -> None:
    """Communication costs 0.7 to 1.5 times what the table says; the few beyond 10 % are of disturbed visits."""
    every = [own for seed in range(60) for own in errors(seed, known, wanted)]
    assert mean(every) < 0.05
    assert mean(own > 0.1 for own in every) < 0.06
