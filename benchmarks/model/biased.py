"""The paper's biased estimate of an operator's CPU, and what Algorithm 2 recovers from it (MODEL, 3.3.2 and 3.3.3).

    c = e u
c is the estimate of an operator's CPU time, e its elapsed time, u how much of the time the element's thread uses its
core.  Below saturation the thread also waits for tuples, so that c is too small.
Micro-batches stand for a second each.  An operator that computes and does not wait has as much CPU as elapsed time, so
that the thread clock gives e.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.model.case_run import Measurement
from penstock.errors import InputError
from penstock.model.costs.learning.samples import ElementSample
from penstock.model.costs.points import ElementPoint, OperatorPoint
from penstock.model.costs.recovery import recover_fused

_LEAST_CORES = 0.01  # at the highest rate: less says nothing in per cent
_FEWEST_RATES = 3


@dataclass(frozen=True, slots=True)
class RecoveredOperator:
    """An operator of a fused element, at some rates (tuples/s of its input), the highest one last; CPU in cores.

    `measured` is CPU by the thread clock, `biased` the paper's estimate, `recovered` what Algorithm 2 makes of that.
    """

    case: str
    name: str
    rates: tuple[float, ...]
    measured: tuple[float, ...]
    biased: tuple[float, ...]
    recovered: tuple[float, ...]

    @property
    def error(self) -> float:
        """Relative, at the highest rate."""
        return abs(self.recovered[-1] / self.measured[-1] - 1)


def biased_cores(element: ElementSample) -> dict[str, float]:
    """The biased estimate of each operator whose calls were timed."""
    utilization = min(element.cpu_s / element.tasks, 1.0)
    return {name: own.cpu_s * utilization for name, own in element.operators.items() if own.cpu_s is not None}


def recovered_operators(case: str, learning: Iterable[Measurement]) -> Iterator[RecoveredOperator]:
    """Algorithm 2 on the fused elements of measurements in one fusion, where it can be used."""
    by_element: dict[str, list[ElementSample]] = {}
    for own in sorted(learning, key=lambda own: own.sample.tuples):
        for name, element in own.sample.elements.items():
            by_element.setdefault(name, []).append(element)
    for samples in by_element.values():
        if len(samples) >= _FEWEST_RATES:
            yield from _of_element(case, samples)


def _of_element(case: str, samples: list[ElementSample]) -> Iterator[RecoveredOperator]:
    names = [n for n, own in samples[-1].operators.items() if own.cpu_s is not None and own.cpu_s >= _LEAST_CORES]
    if len(names) < 2:
        return  # not fused: Algorithm 1 is for those
    try:
        found = recover_fused([_point(element, names) for element in samples])
    except InputError:  # CPU that does not grow with the rate, or every rate saturated
        return
    for name in names:
        rates = tuple(element.operators[name].tuples_in for element in samples)
        yield RecoveredOperator(
            case, name, rates, tuple(element.operators[name].cpu_s or 0.0 for element in samples),
            tuple(biased_cores(element)[name] for element in samples),
            tuple(found[name].cpu.at([rate]) for rate in rates),
        )  # fmt: skip


def _point(element: ElementSample, names: list[str]) -> ElementPoint:
    estimates: Mapping[str, float] = biased_cores(element)
    operators = {name: OperatorPoint(estimates[name], (element.operators[name].tuples_in,)) for name in names}
    return ElementPoint(element.cpu_s, (), operators=operators)
