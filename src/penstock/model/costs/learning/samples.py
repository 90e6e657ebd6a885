"""Samples: what micro-batches measured of each element and operator, put together by rate.

A micro-batch of n tuples is taken for n tuples/s at one micro-batch per second, whatever it took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median

from penstock.measure.observation import Observation, ReplicaObservation

_SAME_RATE = 0.02  # batches whose tuples differ by less are one point
_UNDISTURBED = 0.1  # of micro-batches at one rate: the share that other programs on the machine are taken to spare
Quantity = Callable[[Iterable[float]], float]


@dataclass(frozen=True, slots=True)
class OperatorSample:
    """An operator in one micro-batch: its CPU by the thread clock, None where no call was timed.

    Bytes are those of its tuples' columns, by the same calls.
    """

    cpu_s: float | None
    tuples_in: float
    tuples_out: float
    bytes_in: float | None = None
    bytes_out: float | None = None


@dataclass(frozen=True, slots=True)
class ElementSample:
    """An element in one micro-batch, over all of its replicas.

    `cpu_s` is the Python workers', with Spark's loop around them and the tasks' threads in the JVM.
    """

    cpu_s: float
    busy_s: float
    python_cpu_s: float
    busiest_cpu_s: float
    tasks: int
    tuples_in: Mapping[str, float]
    tuples_out: Mapping[str, float]
    bytes_in: Mapping[str, float]
    bytes_out: Mapping[str, float]
    operators: Mapping[str, OperatorSample] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sample:
    """A micro-batch, or the medians of several at the same rate."""

    tuples: float
    wall_s: float
    driver_cpu_s: float | None
    measuring_ratio: float | None
    elements: Mapping[str, ElementSample]
    batches: int = 1


def samples_of(observations: Iterable[Observation], *, undisturbed: bool = False) -> list[Sample]:
    """The samples of micro-batches, one for each rate; lowest rate first.

    CPU and time of a rate are the medians of its micro-batches, tuples and bytes their means: results of windows and
    joins come unevenly.  `undisturbed`: the lowest tenths of CPU and time, without the time in which tasks had no core,
    for what a micro-batch costs by itself.  What else runs on a machine takes caches and memory from it, and so adds
    CPU, never less: the same operator's CPU per tuple has a sharp lower end and a long upper one.
    """
    known = [o for o in observations if o.tuples_in]
    jvm = _jvm_by_tuple(known)
    samples = [(o, _sample(o, jvm)) for o in known]
    own = [replace(s, wall_s=s.wall_s - stalled_s(o)) if undisturbed else s for o, s in samples]
    own.sort(key=lambda sample: sample.tuples)
    groups: list[list[Sample]] = []
    for sample in own:
        if groups and sample.tuples <= groups[-1][0].tuples * (1 + _SAME_RATE):
            groups[-1].append(sample)
        else:
            groups.append([sample])
    return [middle(group, lowest_tenth if undisturbed else median) for group in groups]


def stalled_s(o: Observation) -> float:
    """How much of a micro-batch its tasks waited for cores that other programs used; stages come one after another."""
    stages = [max((r.stalled_s for r in own), default=0.0) for own in o.replicas_by_element.values()]
    return min(sum(stages), o.micro_batch_s)


def lowest_tenth(values: Iterable[float]) -> float:
    """The value that a tenth of the values is below, interpolated.

    >>> lowest_tenth([1.0, 2.0, 3.0, 4.0, 5.0])
    1.4
    """
    own = sorted(values)
    place = (len(own) - 1) * _UNDISTURBED
    below = int(place)
    above = min(below + 1, len(own) - 1)
    return own[below] + (own[above] - own[below]) * (place - below)


def _jvm_by_tuple(observations: Sequence[Observation]) -> dict[str, tuple[float, float]]:
    """For each element the CPU of a task's thread in the JVM, per task and per tuple: it is asked for now and then."""
    found: dict[str, list[tuple[float, float]]] = {}
    for o in observations:
        for name, replicas in o.replicas_by_element.items():
            for r in replicas:
                if r.jvm_cpu_s is not None:
                    found.setdefault(name, []).append((float(r.tuples_in), r.jvm_cpu_s))
    return {name: _line(points) for name, points in found.items()}


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Offset and slope, neither below 0."""
    x, y = [own for own, _ in points], [own for _, own in points]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((own - mean_x) ** 2 for own in x)
    if spread <= (_SAME_RATE * max(mean_x, 1.0)) ** 2:
        return mean_y, 0.0
    slope = max(sum((a - mean_x) * (b - mean_y) for a, b in points) / spread, 0.0)
    return max(mean_y - slope * mean_x, 0.0), slope


def _sample(o: Observation, jvm: Mapping[str, tuple[float, float]]) -> Sample:
    elements = {name: _element(own, jvm.get(name, (0.0, 0.0))) for name, own in o.replicas_by_element.items() if own}
    tasks_jvm_s = sum(_jvm(r, jvm.get(name, (0.0, 0.0))) for name, own in o.replicas_by_element.items() for r in own)
    driver_s = None
    if o.cpu is not None:
        driver_s = o.cpu.driver_s + max((o.cpu.jvm_s or 0.0) - tasks_jvm_s, 0.0)
    return Sample(float(o.tuples_in), o.micro_batch_s, driver_s, o.machinery_cpu_ratio, elements)


def _jvm(r: ReplicaObservation, line: tuple[float, float]) -> float:
    return line[0] + line[1] * r.tuples_in if r.jvm_cpu_s is None else r.jvm_cpu_s


def _element(replicas: Sequence[ReplicaObservation], jvm: tuple[float, float]) -> ElementSample:
    costs = [r.cpu_s + r.worker_loop_cpu_s + _jvm(r, jvm) for r in replicas]
    return ElementSample(
        sum(costs), sum(max(r.busy_s - r.stalled_s, 0.0) for r in replicas), sum(r.cpu_s for r in replicas),
        max(costs), len(replicas),
        _summed((port.stream, port.tuples) for r in replicas for port in r.inputs),
        _summed((port.stream, port.tuples) for r in replicas for port in r.outputs),
        _summed((port.stream, port.bytes) for r in replicas for port in r.inputs),
        _summed((port.stream, port.bytes) for r in replicas for port in r.outputs),
        _operators(replicas),
    )  # fmt: skip


def _operators(replicas: Sequence[ReplicaObservation]) -> dict[str, OperatorSample]:
    names = dict.fromkeys(own.name for r in replicas for own in r.operators)
    found = {}
    for name in names:
        own = [o for r in replicas for o in r.operators if o.name == name]
        timed = [o.cpu_s for o in own if o.cpu_s is not None]
        sizes = [[getattr(o, side) for o in own] for side in ("bytes_in", "bytes_out")]
        bytes_in, bytes_out = (None if None in each else float(sum(each)) for each in sizes)
        found[name] = OperatorSample(
            sum(timed) if timed else None, float(sum(o.tuples_in for o in own)), float(sum(o.tuples_out for o in own)),
            bytes_in, bytes_out,
        )  # fmt: skip
    return found


def _summed(pairs: Iterable[tuple[str, int]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in pairs:
        found[name] = found.get(name, 0.0) + value
    return found


def middle(samples: Sequence[Sample], quantity: Quantity = median) -> Sample:
    """Samples at one rate as one: `quantity` of their times and CPU, the means of their tuples and bytes."""
    names = [name for name in samples[0].elements if all(name in own.elements for own in samples)]
    drivers = [own.driver_cpu_s for own in samples if own.driver_cpu_s is not None]
    ratios = [own.measuring_ratio for own in samples if own.measuring_ratio is not None]
    return Sample(
        fmean(own.tuples for own in samples),
        quantity(own.wall_s for own in samples),
        quantity(drivers) if drivers else None,
        median(ratios) if ratios else None,
        {name: _middle_element([own.elements[name] for own in samples], quantity) for name in names},
        sum(own.batches for own in samples),
    )


def _middle_element(own: Sequence[ElementSample], quantity: Quantity) -> ElementSample:
    operators = {
        name: _middle_operator([sample.operators[name] for sample in own if name in sample.operators], quantity)
        for name in own[0].operators
    }
    return ElementSample(
        quantity(s.cpu_s for s in own), quantity(s.busy_s for s in own), quantity(s.python_cpu_s for s in own),
        quantity(s.busiest_cpu_s for s in own), round(median(s.tasks for s in own)),
        _means([s.tuples_in for s in own]), _means([s.tuples_out for s in own]),
        _means([s.bytes_in for s in own]),
        _means([s.bytes_out for s in own]), operators,
    )  # fmt: skip


def _middle_operator(own: Sequence[OperatorSample], quantity: Quantity) -> OperatorSample:
    timed = [sample.cpu_s for sample in own if sample.cpu_s is not None]
    sized = [(s.bytes_in, s.bytes_out) for s in own if s.bytes_in is not None and s.bytes_out is not None]
    bytes_in, bytes_out = (fmean(side) for side in zip(*sized, strict=True)) if sized else (None, None)
    return OperatorSample(
        quantity(timed) if timed else None, fmean(s.tuples_in for s in own), fmean(s.tuples_out for s in own),
        bytes_in, bytes_out,
    )  # fmt: skip


def _means(own: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for each in own for name in each)
    return {name: fmean(each.get(name, 0.0) for each in own) for name in names}
