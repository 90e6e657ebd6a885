"""Samples of a running application -> its Profile (MODEL, Figure 4: the normaliser)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.errors import InputError
from penstock.model.costs.communication import Communication
from penstock.model.costs.learning.operator_facts import OperatorFacts
from penstock.model.costs.learning.samples import ElementSample, Sample
from penstock.model.costs.least_squares import FEWEST_RATES, check_points, fit
from penstock.model.costs.profile import FixedCosts, OperatorCost, Profile
from penstock.model.costs.recovery import SATURATED_CORES
from penstock.model.costs.resource_function import ResourceFunction, Term

_WAITING_RATIO = 1.5  # elapsed time / CPU of an element that waits for something other than a core
_WAITING_S = 0.02
_CHEAPEST, _DEAREST = 0.5, 2.0  # of the table's communication: what seems to cost less or more is not believed
_FACTOR_DEVIATION = 0.3  # by which the communication of an application differs from the table's
_OWN_DEVIATION = 0.15  # by which that of an operator differs from its application's
_REPEAT_ERROR = 0.02  # of an element's CPU: what two measurements differ by


@dataclass(frozen=True, slots=True)
class Overhead:
    """What runs around operators, as the communication learner found it; what neighbours add, where that is known."""

    fixed: FixedCosts
    communication: Communication
    contention: float = 0.0


Measured = tuple[Sample, Mapping[str, tuple[str, ...]]]  # a sample, and the operators of its elements


def learned(facts: Mapping[str, OperatorFacts], measured: Sequence[Measured], overhead: Overhead) -> Profile:
    """The profile of an application out of samples at several rates, of any fusions of it.

    An operator's CPU is what the thread clock saw in it.  What an element took besides its operators, its tasks, its
    envelopes and communication belongs to its sources, else to the operator that has state, else to the first.  Where
    it grows or falls with what was sent and received, communication of that operator is dearer or cheaper than the
    table says: the clock's figures of operators stay.  It is not dearer where state or sinks may have taken the rest.
    """
    _check(facts, measured)
    usual = _usual_factor(facts, measured, overhead)
    operators = tuple(_cost(own, measured, facts, overhead, usual) for own in facts.values())
    shares = _shares(facts, measured)
    return Profile(operators, _fixed([sample for sample, _ in measured], overhead.fixed), overhead.communication,
                   dict.fromkeys(sorted({own.operator_class for own in facts.values()}), 1.0),
                   contention=overhead.contention, source_shares=shares)  # fmt: skip


def _check(facts: Mapping[str, OperatorFacts], measured: Sequence[Measured]) -> None:
    check_points([(sample.tuples,) for sample, _ in measured], "a profile")
    if all(max(own.busiest_cpu_s for own in sample.elements.values()) > SATURATED_CORES for sample, _ in measured):
        raise InputError(
            f"every rate is saturated (an element uses at least {SATURATED_CORES:.0%} of a core), so that rates say "
            "nothing about cost; profile at lower rates too"
        )
    for name, share in _blocking(facts, measured).items():
        raise InputError(
            f"operator '{name}' blocks: {share:.0%} of its time is waiting, not CPU, and a resource function covers "
            "CPU alone; give it threads (docs/threads.md), or profile the application without it"
        )


def _blocking(facts: Mapping[str, OperatorFacts], measured: Sequence[Measured]) -> dict[str, float]:
    """Operators of elements that wait for something other than a core, and the share of waiting."""
    found: dict[str, list[float]] = {}
    for sample, elements in measured:
        for name, own in sample.elements.items():
            suspects = [o for o in elements.get(name, ()) if facts[o].operator_class in ("map", "custom", "load")]
            if suspects:
                waits = own.busy_s > _WAITING_RATIO * own.python_cpu_s and own.busy_s > own.python_cpu_s + _WAITING_S
                found.setdefault(suspects[0], []).append(1 - own.python_cpu_s / own.busy_s if waits else 0.0)
    return {name: sum(own) / len(own) for name, own in found.items() if all(own)}


def _cost(
    own: OperatorFacts,
    measured: Sequence[Measured],
    facts: Mapping[str, OperatorFacts],
    overhead: Overhead,
    usual: float,
) -> OperatorCost:
    rates: list[tuple[float, ...]] = []
    parts: list[tuple[float, float, float]] = []  # the operator's own, communication and the rest of its element's
    points: list[_Point] = []
    sizes: list[float] = []
    outputs: dict[str, list[float]] = {stream: [] for stream in own.outputs}
    for sample, elements in measured:
        home = next((name for name, operators in elements.items() if own.name in operators), None)
        if home is None or home not in sample.elements:
            continue
        element, inside = sample.elements[home], elements[home]
        rates.append(tuple(stream_rate(sample, stream, facts) for stream in own.inputs or own.outputs))
        exchanged_s, rest_s, cpu_s = point = _point(element, inside, facts, overhead)
        if _is_timed(element, inside, facts):
            points.append(point)
        share = share_of_rest(own.name, inside, facts, sample)
        parts.append((_own_cpu(own.name, element), share * exchanged_s, share * rest_s))
        sizes.append(cpu_s)
        for stream in own.outputs:
            outputs[stream].append(stream_rate(sample, stream, facts))
    what = f"the resource function of operator '{own.name}'"
    factor = _own_factor(points, usual, may_be_dearer=_only_passes_on(own.name, measured, facts))
    cpu = _function(rates, [own_s + rest_s + (1.0 - factor) * sent_s for own_s, sent_s, rest_s in parts], what, sizes)
    through = {
        stream: fit(rates, given, degree=1, through_origin=True, what=what)
        if len(own.inputs) else ResourceFunction((Term((1,), 1.0),))
        for stream, given in outputs.items()
    }  # fmt: skip
    widths = {stream: _width(stream, own, measured, facts) for stream in own.outputs}
    return OperatorCost(
        own.name, cpu, {stream: replace(function, covariance=(), noise=0.0) for stream, function in through.items()},
        own.inputs, own.operator_class, own.key, own.scope, own.by, widths, factor,
    )  # fmt: skip


_Point = tuple[float, float, float]  # communication as the table has it, the rest, and all CPU of an element


def _only_passes_on(name: str, measured: Sequence[Measured], facts: Mapping[str, OperatorFacts]) -> bool:
    """Whether an operator's elements do nothing beside operators and communication: no state, and no sink."""
    homes = [inside for _, elements in measured for inside in elements.values() if name in inside]
    return all(_passes_on(inside, facts) for inside in homes)


def _passes_on(inside: Sequence[str], facts: Mapping[str, OperatorFacts]) -> bool:
    own = [facts[name] for name in inside]
    return not any(each.is_sink or (each.scope != "none" and not each.is_source) for each in own)


def _usual_factor(facts: Mapping[str, OperatorFacts], measured: Sequence[Measured], overhead: Overhead) -> float:
    """The share of the table's cost that an application's communication has, by elements that only pass tuples on."""
    points: dict[tuple[str, ...], list[_Point]] = {}
    for sample, elements in measured:
        for name, element in sample.elements.items():
            inside = elements.get(name, ())
            if inside and _passes_on(inside, facts) and _is_timed(element, inside, facts):
                points.setdefault(inside, []).append(_point(element, inside, facts, overhead))
    several = [own for own in points.values() if len(own) >= FEWEST_RATES]
    return 1.0 + min(max(_slope(several, 0.0, _FACTOR_DEVIATION), _CHEAPEST - 1.0), _DEAREST - 1.0)


def _own_factor(points: Sequence[_Point], usual: float, *, may_be_dearer: bool) -> float:
    """That of an operator; where communication is a small part of its element, the rest says nothing about it."""
    if len(points) < FEWEST_RATES:
        return usual
    slope = _slope([points], usual - 1.0, _OWN_DEVIATION)
    return 1.0 + min(max(slope, _CHEAPEST - 1.0), _DEAREST - 1.0 if may_be_dearer else usual - 1.0)


def _point(
    element: ElementSample, inside: Sequence[str], facts: Mapping[str, OperatorFacts], overhead: Overhead
) -> _Point:
    exchanged_s = communication_s(element, inside, facts, overhead)
    return exchanged_s, _rest(element, inside, facts, overhead), element.cpu_s


def _slope(elements: Sequence[Sequence[_Point]], expected: float, deviation: float) -> float:
    """b of rest = a + b communication, with an a for each element; a normal prior of b, errors as shares of CPU."""
    spread, moved = deviation**-2, expected * deviation**-2
    for points in elements:
        weights = [1.0 / max(_REPEAT_ERROR * cpu_s, 1e-6) ** 2 for _, _, cpu_s in points]
        mean_x, mean_y = (
            sum(w * point[axis] for w, point in zip(weights, points, strict=True)) / sum(weights) for axis in (0, 1)
        )
        spread += sum(w * (x - mean_x) ** 2 for w, (x, _, _) in zip(weights, points, strict=True))
        moved += sum(w * (x - mean_x) * (y - mean_y) for w, (x, y, _) in zip(weights, points, strict=True))
    return moved / spread


def _function(
    rates: Sequence[tuple[float, ...]], values: Sequence[float], what: str, sizes: Sequence[float] | None = None
) -> ResourceFunction:
    """A fit; ports that never changed by themselves are taken in their proportion, and work that is never seen is 0.

    `sizes`: what errors are shares of, the elements' CPU; else the values.
    """
    relative_to = values if sizes is None else sizes
    if all(abs(value) < 1e-9 for value in values):
        return ResourceFunction(())
    try:
        found = fit(rates, values, relative_to=relative_to, what=what)
        for lower in (1, 0):
            if not _grows(found, rates):
                found = fit(rates, values, degree=lower, relative_to=relative_to, what=what)
        return found
    except InputError:
        if len(rates[0]) == 1 or len(set(rates)) < 3:
            raise
    line = fit([(sum(own),) for own in rates], values, degree=1, relative_to=relative_to, what=what)
    ports = len(rates[0])
    offset, slope = line.terms
    terms = [Term((0,) * ports, offset.coefficient)]
    terms += [Term(tuple(int(p == port) for p in range(ports)), slope.coefficient) for port in range(ports)]
    spread = [[0.0] * (ports + 1) for _ in range(ports + 1)]
    spread[0][0] = line.covariance[0][0]
    for one in range(ports):
        spread[0][one + 1] = spread[one + 1][0] = line.covariance[0][1]
        for other in range(ports):
            spread[one + 1][other + 1] = line.covariance[1][1]
    return ResourceFunction(tuple(terms), tuple(map(tuple, spread)), line.noise)


def _grows(function: ResourceFunction, rates: Sequence[tuple[float, ...]]) -> bool:
    """Whether more tuples never cost less, from the lowest rates to the highest: what says otherwise is noise."""
    low, high = (tuple(take(own) for own in zip(*rates, strict=True)) for take in (min, max))
    steps = [[a + (b - a) * part / 8 for a, b in zip(low, high, strict=True)] for part in range(9)]
    values = [sum(term.coefficient * term.basis(own) for term in function.terms) for own in steps]
    return all(before <= after for before, after in itertools.pairwise(values))


def _is_timed(element: ElementSample, inside: Sequence[str], facts: Mapping[str, OperatorFacts]) -> bool:
    """Whether the thread clock saw every operator; sinks that write nothing by themselves have no calls."""
    timed = {name for name, seen in element.operators.items() if seen.cpu_s is not None}
    return timed == set(element.operators) and all(name in timed for name in inside if not facts[name].is_sink)


def _own_cpu(name: str, element: ElementSample) -> float:
    seen = element.operators.get(name)
    return 0.0 if seen is None or seen.cpu_s is None else seen.cpu_s


def _rest(
    element: ElementSample, inside: Sequence[str], facts: Mapping[str, OperatorFacts], overhead: Overhead
) -> float:
    """What an element took besides what is known."""
    timed = sum(own.cpu_s or 0.0 for own in element.operators.values())
    return element.cpu_s - timed - overhead_s(element, inside, facts, overhead)


def share_of_rest(name: str, inside: Sequence[str], facts: Mapping[str, OperatorFacts], sample: Sample) -> float:
    """What part of an element's unexplained CPU is an operator's: sources, which are read in tasks of their own, have
    it by their tuples, else it is the first one's with state, else the first one's."""
    sources = {own: stream_rate(sample, facts[own].outputs[0], facts) for own in inside if facts[own].is_source}
    if len(sources) > 1 and (total := sum(sources.values())):
        return sources.get(name, 0.0) / total
    stateful = [own for own in inside if facts[own].scope != "none" and not facts[own].is_sink]
    return 1.0 if next(iter([*sources, *stateful, *inside])) == name else 0.0


def overhead_s(
    element: ElementSample, inside: Sequence[str], facts: Mapping[str, OperatorFacts], overhead: Overhead
) -> float:
    """Tasks, envelopes and communication of an element in one micro-batch."""
    fixed = overhead.fixed
    outside, leaving = _exchanged(element, inside, facts)
    envelopes = sum(
        element.tasks * math.ceil(tuples / element.tasks / fixed.envelope_tuples)
        for tuples in [*outside.values(), *leaving.values()]
    )
    exchange_s = communication_s(element, inside, facts, overhead)
    return element.tasks * fixed.task_cpu_s + envelopes * fixed.envelope_cpu_s + exchange_s


def communication_s(
    element: ElementSample, inside: Sequence[str], facts: Mapping[str, OperatorFacts], overhead: Overhead
) -> float:
    """Sending and receiving of an element in one micro-batch, as the table has it."""
    table = overhead.communication
    outside, leaving = _exchanged(element, inside, facts)
    received = sum(table.receive(n, _bytes(element.bytes_in, stream, n)) for stream, n in outside.items())
    return received + sum(table.send(n, _bytes(element.bytes_out, stream, n)) for stream, n in leaving.items())


def _exchanged(
    element: ElementSample, inside: Sequence[str], facts: Mapping[str, OperatorFacts]
) -> tuple[dict[str, float], dict[str, float]]:
    """Tuples of the streams that come from other elements, and of those that leave."""
    made = {stream for name in inside for stream in facts[name].outputs}
    return ({stream: n for stream, n in element.tuples_in.items() if stream not in made},
            {stream: n for stream, n in element.tuples_out.items() if stream in made})  # fmt: skip


def _bytes(by_stream: Mapping[str, float], stream: str, tuples: float) -> float | None:
    return by_stream[stream] / tuples if tuples and by_stream.get(stream) else None


def stream_rate(sample: Sample, stream: str, facts: Mapping[str, OperatorFacts]) -> float:
    """Tuples of a stream in a micro-batch, from whoever counted them: a port, its producer, or its reader."""
    for element in sample.elements.values():
        for ports in (element.tuples_in, element.tuples_out):
            if stream in ports:
                return ports[stream]
    producer = next(own for own in facts.values() if stream in own.outputs)
    readers = [own for own in facts.values() if stream in own.inputs]
    for own in ([producer] if len(producer.outputs) == 1 else []) + [r for r in readers if len(r.inputs) == 1]:
        for element in sample.elements.values():
            seen = element.operators.get(own.name)
            if seen is not None and (seen.tuples_in or seen.tuples_out):
                return seen.tuples_out if own is producer else seen.tuples_in
    return sample.tuples if producer.is_source else 0.0


def _width(stream: str, own: OperatorFacts, measured: Sequence[Measured], facts: Mapping[str, OperatorFacts]) -> float:
    """Bytes of a stream's tuples: as sent or received, else as its operators saw them inside an element."""
    for sample, _ in measured:
        for element in sample.elements.values():
            for tuples, sizes in ((element.tuples_out, element.bytes_out), (element.tuples_in, element.bytes_in)):
                if tuples.get(stream) and sizes.get(stream):
                    return sizes[stream] / tuples[stream]
    readers = [each.name for each in facts.values() if each.inputs == (stream,)]
    for sample, _ in measured:
        for element in sample.elements.values():
            seen = element.operators
            if len(own.outputs) == 1 and own.name in seen and seen[own.name].bytes_out and seen[own.name].tuples_out:
                return (seen[own.name].bytes_out or 0.0) / seen[own.name].tuples_out
            for reader in (seen[name] for name in readers if name in seen):
                if reader.bytes_in and reader.tuples_in:
                    return reader.bytes_in / reader.tuples_in
    return own.bytes_per_tuple


def _shares(facts: Mapping[str, OperatorFacts], measured: Sequence[Measured]) -> dict[str, float]:
    sources = [own for own in facts.values() if own.is_source]
    if len(sources) < 2:
        return {}
    total = {own.name: sum(stream_rate(s, own.outputs[0], facts) for s, _ in measured) for own in sources}
    every = sum(total.values()) or 1.0
    return {name: value / every for name, value in total.items()}


def _fixed(samples: Sequence[Sample], fixed: FixedCosts) -> FixedCosts:
    """The driver's CPU, and the time of micro-batches against the CPU of their stages."""
    drivers = [sample.driver_cpu_s for sample in samples if sample.driver_cpu_s is not None]
    points = [(sum(own.busiest_cpu_s for own in sample.elements.values()), sample.wall_s) for sample in samples]
    driver_s = sorted(drivers)[len(drivers) // 2] if drivers else fixed.micro_batch_cpu_s
    offset_s, slope = _time_line(points)
    return replace(fixed, micro_batch_cpu_s=driver_s, micro_batch_s=offset_s, stage_s_per_cpu_s=slope)


def _time_line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Seconds besides the stages, and seconds of a stage per second of CPU; both above 0."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 1.0
    slope = min(max(slope, 0.3), 3.0)
    return max(mean_y - slope * mean_x, 0.0), slope
