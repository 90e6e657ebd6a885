"""Control steps out of the Observations of micro-batches: live ones or those of a journal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from penstock.control.configuration import Configuration
from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.setting import Setting
from penstock.measure.observation import Observation, ReplicaObservation, latency_over

PERIOD_S = 1.0


@dataclass(frozen=True, slots=True)
class ObservedBatch:
    """A micro-batch and the Configuration it ran with."""

    observation: Observation
    configuration: Configuration


def control_steps(batches: Iterable[ObservedBatch], period_s: float = PERIOD_S) -> Iterator[ControlStep]:
    """Whole micro-batches together until a control period has passed; one Configuration per step."""
    gathered: list[ObservedBatch] = []
    before: Configuration | None = None
    number = 0
    for batch in batches:
        if gathered and batch.configuration != gathered[-1].configuration:
            number += 1
            yield control_step(number, gathered, changed=_changed(before, gathered))
            before, gathered = gathered[-1].configuration, []
        gathered.append(batch)
        if sum(_wall_s(b.observation) for b in gathered) >= period_s:
            number += 1
            yield control_step(number, gathered, changed=_changed(before, gathered))
            before, gathered = gathered[-1].configuration, []


def _changed(before: Configuration | None, gathered: Sequence[ObservedBatch]) -> bool:
    return before is not None and before.elements != gathered[0].configuration.elements


def setting_of(configuration: Configuration) -> Setting:
    """What the application level decides; elements share the cores, so that the most replicas of any count."""
    replicas = max((element.replicas for element in configuration.elements), default=1)
    return Setting(replicas, configuration.frequency_ghz, configuration.micro_batch_tuples)


def control_step(number: int, batches: Sequence[ObservedBatch], *, changed: bool) -> ControlStep:
    """One step of some micro-batches under one Configuration.

    Elements run one after the other within a micro-batch: the time that depends on tuples is the busiest replica of
    each, and what is left of a micro-batch is overhead.
    """
    observed = [batch.observation for batch in batches]
    period_s = sum(_wall_s(o) for o in observed)
    served = sum(o.tuples_in for o in observed)
    busiest_s = sum(_busiest_s(o) for o in observed)
    busy_s = sum(r.busy_s for o in observed for r in _replicas(o))
    setting = setting_of(batches[0].configuration)
    latency = latency_over(observed)
    last = observed[-1]
    own_s = sum(max(o.micro_batch_s - _busiest_s(o), 0.0) for o in observed)
    return ControlStep(
        step=number,
        ended_at_s=last.committed_at_s if last.committed_at_s is not None else last.started_at_s + last.micro_batch_s,
        period_s=period_s,
        setting=setting,
        arrived_tuples=float(sum(o.arrivals.tuples if o.arrivals is not None else o.tuples_in for o in observed)),
        served_tuples=float(served),
        backlog_tuples=float(last.backlog_tuples or 0),
        busy_ratio=busiest_s / period_s if period_s > 0 else 0.0,
        micro_batches=len(observed),
        micro_batch_s=sum(o.micro_batch_s for o in observed) / len(observed),
        overhead_s=own_s / len(observed),
        service_s=busy_s / served if served else None,
        service_cv=_service_cv(observed),
        arrival_cv=_arrival_cv(observed),
        latest_tuples_s=last.arrivals.rate_tuples_s if last.arrivals is not None else None,
        imbalance=max(busiest_s * setting.replicas / busy_s, 1.0) if busy_s > 0 else 1.0,
        latency_mean_s=latency.mean_ms / 1000 if latency is not None and latency.mean_ms is not None else None,
        latency_p95_s=latency.p95_ms / 1000 if latency is not None else None,
        load_by_slot=_load_by_slot(observed),
        elements=_elements(observed, batches[0].configuration),
        reconfigured=changed,
        settled_below=last.settled,
    )


def _wall_s(observation: Observation) -> float:
    """From the commit before to this one."""
    before_s = observation.times.before_s if observation.times is not None else None
    return observation.micro_batch_s + (before_s or 0.0)


def _replicas(observation: Observation) -> list[ReplicaObservation]:
    return [replica for own in observation.replicas_by_element.values() for replica in own]


def _busiest_s(observation: Observation) -> float:
    return sum(max((r.busy_s for r in own), default=0.0) for own in observation.replicas_by_element.values())


def _arrival_cv(observed: Sequence[Observation]) -> float:
    squares = [o.arrivals.squared_variation for o in observed if o.arrivals is not None]
    known = [square for square in squares if square is not None]
    return math.sqrt(sum(known) / len(known)) if known else 0.0


def _service_cv(observed: Sequence[Observation]) -> float:
    """Over replicas that told a variance, weighed by their tuples."""
    known = [
        (r.tuples_in, r.service_variance_s2 / r.service_s**2)
        for o in observed
        for r in _replicas(o)
        if r.service_variance_s2 is not None and r.service_s is not None and r.service_s > 0
    ]
    tuples = sum(number for number, _ in known)
    return math.sqrt(sum(number * square for number, square in known) / tuples) if tuples else 0.0


def _load_by_slot(observed: Sequence[Observation]) -> tuple[float, ...]:
    """Seconds of work by slot over all keyed elements: a slot's tuples at its element's mean cost."""
    totals: list[float] = []
    for observation in observed:
        for name, counts in observation.slot_tuples_by_element.items():
            own = observation.replicas_by_element.get(name, ())
            tuples, busy_s = sum(counts), sum(r.busy_s for r in own)
            if not tuples or (totals and len(totals) != len(counts)):
                continue
            totals = totals or [0.0] * len(counts)
            for slot, number in enumerate(counts):
                totals[slot] += number * busy_s / tuples
    return tuple(totals)


def _elements(observed: Sequence[Observation], configuration: Configuration) -> tuple[ElementLoad, ...]:
    """Each element over all the micro-batches, with the elements whose streams it reads."""
    outputs: dict[str, str] = {}
    loads = []
    for element in configuration.elements:
        own = [r for o in observed for r in o.replicas_by_element.get(element.name, ())]
        read = {port.stream for replica in own for port in replica.inputs}
        loads.append(
            ElementLoad(
                element.name,
                element.replicas,
                float(sum(r.tuples_in for r in own)),
                float(sum(r.tuples_out for r in own)),
                sum(r.busy_s for r in own),
                tuple(sorted({outputs[stream] for stream in read if stream in outputs})),
            )
        )
        outputs |= {port.stream: element.name for replica in own for port in replica.outputs}
    return tuple(loads)
