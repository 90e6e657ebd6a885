"""Algorithms 1 and 2 of MODEL: operators' functions out of what was measured of elements, as pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import InputError
from penstock.model.costs.communication import Communication, communication_of
from penstock.model.costs.least_squares import check_points, fit
from penstock.model.costs.points import ElementPoint, OperatorPoint, element_points
from penstock.model.costs.resource_function import ResourceFunction, Term

BLOCKING_RATIO = 1.25  # elapsed time / CPU, the core being free: an operator above it waits
_FLAT_CORES = 1e-6
SATURATED_CORES = 0.97  # an element of one thread that uses more of its core is at its limit


@dataclass(frozen=True, slots=True)
class Recovered:
    """An operator's resource function `cpu`, and the rate of each of its outputs; `saturated_rate_tuples_s` is the
    input rate at which the measured element is saturated, where the algorithm has computed it.

    >>> Recovered(fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0], through_origin=True)).saturated_rate_tuples_s is None
    True
    """

    cpu: ResourceFunction
    outputs: Mapping[str, ResourceFunction] = field(default_factory=dict)
    saturated_rate_tuples_s: float | None = None


def recover_unfused(
    points: Iterable[ElementPoint | Mapping[str, Any]], communication: Communication | Mapping[str, Any] | None = None
) -> Recovered:
    """Algorithm 1: the function of an operator that is alone in its element.

    A point is an `ElementPoint`, or a mapping with its names: `cpu_cores` of the element, `tuples_in_s` (one number per
    input port), `tuples_out_s` (by stream), and bytes per tuple of both where communication depends on them;
    `elapsed_cores`, where it is given, tells an operator that blocks.  A pair of tuples/s and cores will do where
    nothing is sent or received.  `communication` is a `Communication`, or the table of a profile's JSON.

    >>> points = [{"cpu_cores": 0.1 + 3e-6 * r, "tuples_in_s": [r], "tuples_out_s": [r / 10]} for r in (1e4, 2e4, 4e4)]
    >>> print(recover_unfused(points).cpu)
    0.1 + 3e-06 r
    """
    own = element_points(points, "penstock.costs.recover_unfused")
    table = communication_of(communication)
    check_points([point.tuples_in_s for point in own], "a resource function")
    check_blocking("the operator of these points", own)
    usable = unsaturated(own)
    rates = [point.tuples_in_s for point in usable]
    outputs = _outputs([(point.tuples_in_s, point.tuples_out_s) for point in own])
    # Steps 3 and 5: a fit of u_e - (u^r + u^s) is the same as two separate fits, since least squares are linear.
    computed = [point.cpu_cores - _overhead(point, table) for point in usable]
    return Recovered(fit(rates, computed, what="a resource function"), outputs)


def recover_fused(points: Iterable[ElementPoint | Mapping[str, Any]]) -> dict[str, Recovered]:
    """Algorithm 2: the functions of operators of one input port that are fused in one element.

    A point has `cpu_cores` of the element and `operators`: by name a mapping with `cpu_cores` (the biased estimate),
    `tuples_in_s` and `tuples_out_s`.

    >>> def point(rate):
    ...     own = {"cpu_cores": 2e-6 * rate, "tuples_in_s": [rate], "tuples_out_s": {"half": rate / 2}}
    ...     return {"cpu_cores": 2e-6 * rate, "tuples_in_s": [rate], "operators": {"half": own}}
    >>> round(recover_fused([point(1e4), point(2e4), point(4e4)])["half"].cpu.at([1e5]), 3)
    0.2
    """
    own = element_points(points, "penstock.costs.recover_fused")
    names = sorted({name for point in own for name in point.operators})
    if not names:
        raise InputError("penstock.costs.recover_fused needs the operators of each point; got points without")
    unsaturated(own)
    return {name: _recovered(name, [(p.cpu_cores, p.operators[name]) for p in own if name in p.operators])
            for name in names}  # fmt: skip


def _recovered(name: str, measured: Sequence[tuple[float, OperatorPoint]]) -> Recovered:
    """Steps 4 to 9 for one operator."""
    where = f"the resource function of operator '{name}'"
    ports = {len(point.tuples_in_s) for _, point in measured}
    if ports != {1}:
        raise InputError(
            f"recovery (Algorithm 2) takes operators of one input port; operator '{name}' has {max(ports)}: "
            "run it alone in an element and use recover_unfused"
        )
    check_blocking(f"operator '{name}'", [point for _, point in measured])
    rates = [point.tuples_in_s for _, point in measured]
    line = fit(rates, [cores for cores, _ in measured], degree=1, what=where)
    curve = fit(rates, [point.cpu_cores for _, point in measured], degree=2, what=where)
    offset, slope = (term.coefficient for term in line.terms)
    if slope * max(own[0] for own in rates) <= _FLAT_CORES:
        raise InputError(
            f"{where} cannot be recovered: the element's CPU does not grow with the rate; "
            "measure at rates further apart"
        )
    saturated = (1.0 - offset) / slope  # f_e,k(r) = 1
    if saturated <= 0:
        raise InputError(f"{where} cannot be recovered: the element uses a whole core without any tuples")
    per_tuple = curve.at([saturated]) / saturated
    outputs = _outputs([(point.tuples_in_s, point.tuples_out_s) for _, point in measured], ratio=True)
    deviation = curve.variance([saturated]) ** 0.5 / saturated
    cpu = ResourceFunction((Term((1,), per_tuple),), ((deviation**2,),))
    return Recovered(cpu, outputs, saturated)


def unsaturated(points: Sequence[ElementPoint]) -> list[ElementPoint]:
    """The points below saturation, where CPU follows the rate; InputError where there are none."""
    found = [point for point in points if point.cpu_cores < SATURATED_CORES * point.replicas]
    if not found:
        raise InputError(
            f"every point is saturated (at least {SATURATED_CORES:.0%} of a core), so that its rate says nothing about "
            "cost; measure at lower rates too"
        )
    return found


def check_blocking(who: str, points: Sequence[OperatorPoint | ElementPoint]) -> None:
    """InputError for an operator that waits: its time is not CPU, so that no rate of CPU predicts it."""
    timed = [(point.elapsed_cores, point.cpu_cores) for point in points if point.elapsed_cores is not None]
    elapsed, cpu = sum(own for own, _ in timed), sum(own for _, own in timed)
    if elapsed > BLOCKING_RATIO * cpu and timed:
        share = f"{1 - cpu / elapsed:.0%}"
        raise InputError(
            f"{who} blocks: {share} of its time is waiting, not CPU, and a resource function covers CPU "
            "alone; give it threads (docs/threads.md) and profile the others"
        )


def _overhead(point: ElementPoint, table: Communication) -> float:
    widths_in = point.bytes_in or (None,) * len(point.tuples_in_s)
    received = sum(table.receive(rate, width) for rate, width in zip(point.tuples_in_s, widths_in, strict=True))
    sent = sum(table.send(rate, point.bytes_out.get(stream)) for stream, rate in point.tuples_out_s.items())
    return received + sent


def _outputs(
    measured: Sequence[tuple[tuple[float, ...], Mapping[str, float]]], *, ratio: bool = False
) -> dict[str, ResourceFunction]:
    """The rate of each output as a linear function (step 4), or as one ratio (step 6 of Algorithm 2)."""
    found = {}
    for stream in dict.fromkeys(name for _, outputs in measured for name in outputs):
        own = [(rates, outputs[stream]) for rates, outputs in measured if stream in outputs]
        if ratio:
            total = sum(rates[0] for rates, _ in own)
            share = sum(value for _, value in own) / total if total else 0.0
            found[stream] = ResourceFunction((Term((1,), share),))
        else:
            rates = [rates for rates, _ in own]
            found[stream] = fit(rates, [value for _, value in own], degree=1, through_origin=True, what="an output")
    return found
