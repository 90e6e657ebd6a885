"""What a case has learned of each operator, point by point: for pictures of functions and of rates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.model.case_run import Measurement
from penstock.model.costs.flows import flows_of
from penstock.model.costs.learning.learned_profile import Overhead, communication_s, stream_rate
from penstock.model.costs.learning.operator_facts import OperatorFacts
from penstock.model.costs.learning.refinement import source_rates
from penstock.model.costs.profile import OperatorCost, Profile


@dataclass(frozen=True, slots=True)
class LearnedPoint:
    """An operator at one rate: tuples/s of its ports and of all sources; CPU in cores.

    `element` is that of the element it ran in, `communication` what of it was sending and receiving, `own` what the
    thread clock saw in the operator.  `out` is tuples/s that it gave, `predicted_out` by its functions.
    """

    ports: tuple[float, ...]
    sources: float
    element: float
    communication: float
    own: float | None
    out: float
    predicted_out: float


@dataclass(frozen=True, slots=True)
class LearnedOperator:
    """An operator's function and what it was learned from."""

    case: str
    cost: OperatorCost
    points: tuple[LearnedPoint, ...]


def learned_operators(
    case: str,
    profile: Profile,
    facts: Mapping[str, OperatorFacts],
    learning: Sequence[Measurement],
    overhead: Overhead,
) -> Iterable[LearnedOperator]:
    """Those that read streams and give one."""
    for own in facts.values():
        if own.inputs and own.outputs:
            points = [_point(own, profile, facts, each, overhead) for each in learning]
            points.sort(key=lambda point: point.sources)
            yield LearnedOperator(case, profile.operator(own.name), tuple(points))


def _point(
    own: OperatorFacts, profile: Profile, facts: Mapping[str, OperatorFacts], each: Measurement, overhead: Overhead
) -> LearnedPoint:
    home = next(name for name, inside in each.elements.items() if own.name in inside)
    element, seen = each.sample.elements[home], each.sample.elements[home].operators.get(own.name)
    flows = flows_of(profile, source_rates(each.sample, facts))
    return LearnedPoint(
        tuple(stream_rate(each.sample, stream, facts) for stream in own.inputs), each.sample.tuples, element.cpu_s,
        communication_s(element, each.elements[home], facts, overhead), None if seen is None else seen.cpu_s,
        sum(stream_rate(each.sample, stream, facts) for stream in own.outputs),
        sum(flows.rates[stream] for stream in own.outputs),
    )  # fmt: skip
