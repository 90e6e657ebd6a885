"""What was predicted against what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median

from benchmarks.model.biased import biased_cores
from benchmarks.model.case_run import Measurement
from benchmarks.model.cases import Case
from penstock.model.costs.flows import flows_of
from penstock.model.costs.learning.learned_profile import stream_rate
from penstock.model.costs.learning.operator_facts import OperatorFacts
from penstock.model.costs.learning.refinement import source_rates
from penstock.model.costs.profile import Profile

BELOW_CORES = 0.03  # of a core: what counts below half of the highest rate


@dataclass(frozen=True, slots=True)
class ElementError:
    """An element of a fusion at a rate; `repeat` is by how much the rounds of the measurement differ; None of one.

    `biased` is what is predicted with the biased estimate of its operators in place of their functions.
    """

    case: str
    fusion: str
    element: str
    rate: float
    share: float
    measured: float
    predicted: float
    low: float
    high: float
    repeat: float | None
    biased: float | None = None

    @property
    def is_high(self) -> bool:
        """Whether its rate is at least half of the highest: relative errors count there."""
        return self.share >= 0.5

    @property
    def error(self) -> float:
        return abs(self.predicted - self.measured) / self.measured if self.measured else 0.0

    @property
    def cores_off(self) -> float:
        return abs(self.predicted - self.measured)


def element_errors(
    case: Case, profile: Profile, facts: dict[str, OperatorFacts], highest: int, measured: Iterable[Measurement]
) -> Iterator[ElementError]:
    """For every element of every measurement."""
    order = list(facts)
    for own in measured:
        rates = source_rates(own.sample, facts)
        predicted = profile.predict(rates, fusion=own.groups).elements
        for name, element in own.sample.elements.items():
            first = min(own.elements[name], key=order.index)
            rounds = [each.elements[name].cpu_s for each in own.rounds if name in each.elements]
            repeat = _repeat(rounds, element.cpu_s)
            found = predicted[first]
            fusion = " | ".join("+".join(group) for group in own.groups)
            yield ElementError(
                case.name, fusion, name, own.sample.tuples, own.rate / highest, element.cpu_s, found.cpu_cores,
                found.low, found.high, repeat,
                found.cpu_cores - found.parts["operators"] + sum(biased_cores(element).values()),
            )  # fmt: skip


def _repeat(rounds: Sequence[float], cpu_s: float) -> float | None:
    if len(rounds) < 2 or not cpu_s:
        return None
    return median(abs(value / cpu_s - 1) for value in rounds)


def rate_errors(profile: Profile, facts: dict[str, OperatorFacts], measured: Iterable[Measurement]) -> list[float]:
    """By how much predicted rates of streams between operators are off."""
    found = []
    for own in measured:
        flows = flows_of(profile, source_rates(own.sample, facts))
        for operator in facts.values():
            for stream in operator.outputs if operator.inputs else ():
                real = stream_rate(own.sample, stream, facts)
                if real >= 100:  # fewer say nothing in per cent
                    found.append(abs(flows.rates[stream] / real - 1))
    return found


def summary(errors: Sequence[ElementError]) -> tuple[float, float, float]:
    """Mean and worst relative error from half of the highest rate upwards, and the most cores off below."""
    high = [own.error for own in errors if own.is_high]
    low = [own.cores_off for own in errors if not own.is_high]
    return mean(high) if high else 0.0, max(high, default=0.0), max(low, default=0.0)
