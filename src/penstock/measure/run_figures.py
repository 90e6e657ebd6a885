"""A run in figures: what its Observations say of elements, operators, time and CPU altogether."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.measure.observation import (
    Latency,
    Observation,
    OperatorObservation,
    PortObservation,
    ReplicaObservation,
    latency_over,
)
from penstock.measure.threads_found import ThreadsFound, threads_found

_COLD_BATCHES = 3


@dataclass(frozen=True, slots=True)
class ElementFigures:
    """One element; ratios are of the time its replicas had, from commit to commit.

    `jvm_ns_per_tuple` is over the micro-batches in which Spark was asked; `hottest_slot_ratio` is the largest slot's
    share of the tuples; `threads_settled` and `threads_found` are as of the last micro-batch.
    """

    name: str
    replicas_lowest: int
    replicas_highest: int
    tuples_in: int
    tuples_out: int
    bytes_in: int
    bytes_out: int
    busy_ratio: float
    waiting_ratio: float
    cpu_ns_per_tuple: float | None
    jvm_ns_per_tuple: float | None
    hottest_slot_ratio: float | None
    slots_rebuilt: int
    threads_lowest: int = 1
    threads_highest: int = 1
    threads_settled: bool = True
    threads_found: tuple[ThreadsFound, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """One operator; its CPU is over the micro-batches in which blocks of it were timed, its state the newest."""

    name: str
    tuples_in: int
    tuples_out: int
    cpu_ns_per_tuple: float | None
    state_bytes: int


@dataclass(frozen=True, slots=True)
class CpuFigures:
    """CPU seconds by who used them; `measuring_ratio` leaves out the first micro-batches, which are cold."""

    operators_s: float
    element_s: float
    worker_loop_s: float
    driver_s: float
    jvm_s: float
    measuring_s: float
    measuring_ratio: float | None


@dataclass(frozen=True, slots=True)
class RunFigures:
    """All micro-batches of a run together; `seconds` is from the first one's begin to the last one's commit."""

    micro_batches: int
    seconds: float
    tuples_in: int
    tuples_out: int
    latency: Latency | None
    highest_backlog_tuples: int | None
    highest_backlog_age_s: float | None
    dead_letters: int
    slots_rebuilt: int
    plan_s: float
    run_s: float
    publish_s: float
    before_s: float
    ports: tuple[PortObservation, ...]
    elements: tuple[ElementFigures, ...]
    operators: tuple[OperatorFigures, ...]
    cpu: CpuFigures | None
    advice: tuple[str, ...] = ()

    @property
    def rate_tuples_s(self) -> float:
        return self.tuples_in / self.seconds if self.seconds > 0 else 0.0


def run_figures(observations: Sequence[Observation]) -> RunFigures | None:
    """The figures of a run, None where it has no micro-batch."""
    if not observations:
        return None
    times = [o.times for o in observations if o.times is not None]
    return RunFigures(
        len(observations),
        _end_s(observations[-1]) - observations[0].started_at_s,
        sum(o.tuples_in for o in observations),
        sum(o.tuples_out for o in observations),
        latency_over(observations),
        max((o.backlog_tuples for o in observations if o.backlog_tuples is not None), default=None),
        max((o.backlog_age_s for o in observations if o.backlog_age_s is not None), default=None),
        sum(o.dead_letters for o in observations),
        sum(o.slots_rebuilt for o in observations),
        sum(t.plan_s for t in times),
        sum(t.run_s for t in times),
        sum(t.publish_s for t in times),
        sum(t.before_s or 0.0 for t in times),
        _ports(observations),
        tuple(_element(name, observations) for name in _names(o.replicas_by_element for o in observations)),
        tuple(_operator(name, observations) for name in _names(o.operators for o in observations)),
        _cpu(observations),
        tuple(dict.fromkeys(sentence for o in observations for sentence in o.advice)),
    )


def _element(name: str, observations: Sequence[Observation]) -> ElementFigures:
    own = [(o, o.replicas_by_element[name]) for o in observations if name in o.replicas_by_element]
    everyone = [replica for _, replicas in own for replica in replicas]
    given_s = sum(_span_s(o) * len(replicas) for o, replicas in own)
    tuples_in = sum(r.tuples_in for r in everyone)
    return ElementFigures(
        name,
        min(len(replicas) for _, replicas in own),
        max(len(replicas) for _, replicas in own),
        tuples_in,
        sum(r.tuples_out for r in everyone),
        sum(r.bytes_in for r in everyone),
        sum(r.bytes_out for r in everyone),
        sum(r.busy_s for r in everyone) / max(given_s, 1e-9),
        sum(r.waiting_s for r in everyone) / max(given_s, 1e-9),
        _per_tuple_ns(sum(r.cpu_s for r in everyone), tuples_in),
        _jvm_ns(everyone),
        _hottest(name, observations),
        sum(r.slots_rebuilt for r in everyone),
        min(_level(r) for r in everyone),
        max(_level(r) for r in everyone),
        all(r.settled for r in own[-1][1]),
        threads_found(own[-1][1]),
    )


def _level(replica: ReplicaObservation) -> int:
    return 1 if replica.threads is None else replica.threads.level


def _operator(name: str, observations: Sequence[Observation]) -> OperatorFigures:
    own = [o.operators[name] for o in observations if name in o.operators]
    timed: list[OperatorObservation] = [o for o in own if o.cpu_s is not None]
    cpu_ns = _per_tuple_ns(sum(o.cpu_s or 0.0 for o in timed), sum(o.tuples_in for o in timed))
    return OperatorFigures(
        name, sum(o.tuples_in for o in own), sum(o.tuples_out for o in own), cpu_ns, own[-1].state_bytes
    )


def _ports(observations: Sequence[Observation]) -> tuple[PortObservation, ...]:
    """Everything that left an element, by stream."""
    found: dict[str, PortObservation] = {}
    for o in observations:
        for port in (p for own in o.replicas_by_element.values() for r in own for p in r.outputs):
            before = found.get(port.stream, PortObservation(port.stream, 0, 0))
            found[port.stream] = PortObservation(port.stream, before.tuples + port.tuples, before.bytes + port.bytes)
    return tuple(found.values())


def _cpu(observations: Sequence[Observation]) -> CpuFigures | None:
    known = [o.cpu for o in observations if o.cpu is not None]
    if not known:
        return None
    warm = known[_COLD_BATCHES:]
    total_s = sum(cpu.total_s for cpu in warm)
    return CpuFigures(
        sum(cpu.operators_s for cpu in known),
        sum(cpu.element_s for cpu in known),
        sum(cpu.worker_loop_s for cpu in known),
        sum(cpu.driver_s for cpu in known),
        sum(cpu.jvm_s or 0.0 for cpu in known),
        sum(cpu.measuring_s for cpu in known),
        sum(cpu.measuring_s for cpu in warm) / total_s if total_s > 0 else None,
    )


def _jvm_ns(replicas: Sequence[ReplicaObservation]) -> float | None:
    known = [r for r in replicas if r.jvm_cpu_s is not None]
    return _per_tuple_ns(sum(r.jvm_cpu_s or 0.0 for r in known), sum(r.tuples_in for r in known))


def _hottest(element: str, observations: Sequence[Observation]) -> float | None:
    counts = [o.slot_tuples_by_element[element] for o in observations if element in o.slot_tuples_by_element]
    summed = [sum(own) for own in zip(*counts, strict=False)]
    return max(summed) / sum(summed) if sum(summed) else None


def _per_tuple_ns(seconds: float, tuples: int) -> float | None:
    return seconds * 1e9 / tuples if tuples else None


def _end_s(observation: Observation) -> float:
    own = observation.committed_at_s
    return observation.started_at_s + observation.micro_batch_s if own is None else own


def _span_s(observation: Observation) -> float:
    """The time from the commit before to this one."""
    before_s = observation.times.before_s if observation.times is not None else None
    return observation.micro_batch_s + (before_s or 0.0)


def _names(mappings: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))
