"""Control steps out of the Observations of micro-batches: live ones or those of a journal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.routes.slot_loads import SlotLoads
from penstock.control.rules.batch_cap import grows
from penstock.control.setting import Setting
from penstock.measure.observation import Observation, ReplicaObservation, latency_over
from penstock.plan.configuration import Configuration

PERIOD_S = 1.0
COLD_BATCHES = 3  # of a start: code is compiled, files are mapped, and what came before the start is in line
_COMPUTES = 0.5  # of an element's time, and it is no faster with more replicas than cores
_CLEARLY = 2.0


@dataclass(frozen=True, slots=True)
class ObservedBatch:
    """A micro-batch and the Configuration it ran with."""

    observation: Observation
    configuration: Configuration


def control_steps(batches: Iterable[ObservedBatch], single: Iterable[str] = ()) -> Iterator[ControlStep]:
    """The steps of all micro-batches of a run; `single` elements can have one replica only."""
    gathered = StepGatherer(single=single)
    for batch in batches:
        yield from gathered.add(batch)


class StepGatherer:
    """Whole micro-batches together until a control period has passed; one Configuration per step, but for its sizes."""

    def __init__(self, period_s: float = PERIOD_S, single: Iterable[str] = (), cores: int = 1) -> None:
        self._period_s, self._single, self._cores = period_s, frozenset(single), cores
        self._gathered: list[ObservedBatch] = []
        self._before: Configuration | None = None
        self._loads = SlotLoads()
        self._number = 0
        self._put_off = 0  # tuples that wait for their slots to come to another host
        self._ended_at_s: float | None = None
        self._rate_tuples_s: float | None = None  # of the step before

    def is_due(self, committed_at_s: float, configuration: Configuration) -> bool:
        """Whether a micro-batch that was committed then may end a step, with those that were not added yet."""
        newest = self._gathered[-1].configuration if self._gathered else self._before
        if self._ended_at_s is None or newest is None or not _is_alike(configuration, newest):
            return True
        return not 0 <= committed_at_s - self._ended_at_s < self._period_s  # clocks may be set back

    def add(self, batch: ObservedBatch) -> list[ControlStep]:
        """The steps that are over with this micro-batch: mostly none, and two where a change cut one short."""
        steps = []
        if self._gathered and not _is_alike(batch.configuration, self._gathered[-1].configuration):
            steps.append(self._ended())
        self._gathered.append(batch)
        if sum(_wall_s(b.observation) for b in self._gathered) >= self._period_s - 1e-9:
            steps.append(self._ended())
        return steps

    def _ended(self) -> ControlStep:
        self._number += 1
        batches, configuration = self._gathered, self._gathered[-1].configuration
        changed = self._before is not None and self._before.elements != configuration.elements
        self._before, self._gathered = configuration, []
        self._ended_at_s = batches[-1].observation.committed_at_s
        observed, configurations = [b.observation for b in batches], [b.configuration for b in batches]
        loads = self._loads.learn(observed, sum(map(_wall_s, observed)), configurations)
        put_off = self._put_off
        for seen in (batch.observation for batch in batches):  # what a driver before this one put off is not counted
            self._put_off = max(self._put_off + seen.waiting_tuples - seen.resumed_tuples, 0)
        step = control_step(
            self._number, batches, changed=changed, loads=loads, single=self._single, cores=self._cores,
            put_off=(put_off, self._put_off),
        )  # fmt: skip
        before, self._rate_tuples_s = self._rate_tuples_s, step.rate_tuples_s
        hides = any(seen.latency_excludes_waiting for seen in observed) and grows(step.rate_tuples_s, before)
        return replace(step, cap_may_shrink=not hides)


def _is_alike(one: Configuration, other: Configuration) -> bool:
    return (one.elements, one.frequency_ghz) == (other.elements, other.frequency_ghz)


def setting_of(configuration: Configuration) -> Setting:
    """What the application level decides; elements share the cores, so that the most replicas of any count."""
    replicas = max((element.replicas for element in configuration.elements), default=1)
    return Setting(replicas, configuration.frequency_ghz, configuration.micro_batch_tuples)


def control_step(
    number: int,
    batches: Sequence[ObservedBatch],
    *,
    changed: bool,
    loads: Mapping[str, tuple[float, ...]],
    single: frozenset[str] = frozenset(),
    cores: int = 1,
    put_off: tuple[int, int] = (0, 0),
) -> ControlStep:
    """One step of some micro-batches with the same elements; `put_off`: tuples that wait for slots, before and after.

    Elements run one after the other within a micro-batch: the time that replicas shorten is the busiest replica of each
    that has as many as the setting says, and what is left of a micro-batch is overhead.
    """
    observed, configuration = [batch.observation for batch in batches], batches[-1].configuration
    period_s = sum(_wall_s(o) for o in observed)
    served = max(sum(o.tuples_in for o in observed) - put_off[1] + put_off[0], 0)  # taken, and not waiting again
    setting = replace(setting_of(configuration), replicas=_replicas_that_count(observed, configuration, single, cores))
    wide = _wide(configuration, setting.replicas, single)
    longest_s = sum(work_s(o, wide) for o in observed)
    busy_s = sum(r.busy_s for o in observed for name in wide for r in o.replicas_by_element.get(name, ()))
    latency = latency_over(observed)
    last = observed[-1]
    own_s = sum(max(o.micro_batch_s - work_s(o, wide), 0.0) for o in observed)
    elements = _elements(observed, configuration, loads)
    loaded = max(elements, key=lambda e: sum(e.load_by_slot), default=None)
    step = ControlStep(
        step=number,
        ended_at_s=last.committed_at_s if last.committed_at_s is not None else last.started_at_s + last.micro_batch_s,
        period_s=period_s,
        setting=setting,
        arrived_tuples=float(sum(o.arrivals.tuples if o.arrivals is not None else o.tuples_in for o in observed)),
        served_tuples=float(served),
        backlog_tuples=float((last.backlog_tuples or 0) + put_off[1]),
        busy_ratio=sum(work_s(o, o.replicas_by_element) for o in observed) / period_s if period_s > 0 else 0.0,
        micro_batches=len(observed),
        micro_batch_s=sum(o.micro_batch_s for o in observed) / len(observed),
        overhead_s=own_s / len(observed),
        service_s=busy_s / served if served else None,
        service_cv=_service_cv(observed),
        arrival_cv=_arrival_cv(observed),
        latest_tuples_s=last.arrivals.rate_tuples_s if last.arrivals is not None else None,
        imbalance=max(longest_s * setting.replicas / busy_s, 1.0) if busy_s > 0 else 1.0,
        latency_mean_s=latency.mean_ms / 1000 if latency is not None and latency.mean_ms is not None else None,
        latency_p95_s=latency.p95_ms / 1000 if latency is not None else None,
        load_by_slot=() if loaded is None else loaded.load_by_slot,
        split_slots=() if loaded is None else configuration.element(loaded.name).split,
        elements=elements,
        reconfigured=changed,
        settled_below=last.settled,
        last_batch=last.batch,
        measured=all(_is_measured(o) for o in observed),
        timed=latency is not None or not any(o.tuples_out for o in observed),
    )
    return replace(step, waiting_ratio=_waiting_ratio(step))


def _replicas_that_count(
    observed: Sequence[Observation], configuration: Configuration, single: frozenset[str], cores: int
) -> int:
    """The most of any element; those of an element with fewer where it does most of the work and can have more.

    Else an application that begins with one replica of what it waits for would take that time for overhead.
    """
    most = setting_of(configuration).replicas
    work = {e.name: sum(work_s(o, (e.name,)) for o in observed) for e in configuration.elements}
    free = [e for e in configuration.elements if e.name not in single]
    busiest = max(free, key=lambda e: work[e.name], default=None)
    if busiest is None or busiest.replicas == most:
        return most
    others_s = max(work[e.name] for e in configuration.elements if e.replicas == most)
    own = [r for o in observed for r in o.replicas_by_element.get(busiest.name, ())]
    cpu_s, busy_s = sum(r.cpu_s for r in own), sum(r.busy_s - r.stalled_s for r in own)
    at_its_limit = cpu_s >= _COMPUTES * busy_s and busiest.replicas >= cores
    return most if at_its_limit or work[busiest.name] < _CLEARLY * others_s else busiest.replicas


def _wide(configuration: Configuration, replicas: int, single: frozenset[str]) -> tuple[str, ...]:
    """The elements that have as many replicas as the setting says, and may have more; all, where there is none."""
    names = [e.name for e in configuration.elements if e.replicas == replicas and e.name not in single]
    return tuple(names or [e.name for e in configuration.elements])


def _waiting_ratio(step: ControlStep) -> float:
    """The share of its time that the busiest element waits for a service, in a step that falls behind; else 0.

    One that keeps up serves what arrives, however many replicas wait.
    """
    busiest = max(step.elements, key=lambda e: e.busy_s / e.replicas, default=None)
    if busiest is None or busiest.busy_s <= 0 or busiest.cpu_s <= 0 or step.queued_tuples <= 0:
        return 0.0
    return max(1 - (busiest.cpu_s + busiest.stalled_s) / busiest.busy_s, 0.0)


def _is_measured(observation: Observation) -> bool:
    """Whether what arrived and what waits is known of every source."""
    arrivals = observation.arrivals
    return arrivals is not None and not arrivals.assumed and observation.backlog_tuples is not None


def _wall_s(observation: Observation) -> float:
    """From the commit before to this one."""
    before_s = observation.times.before_s if observation.times is not None else None
    return observation.micro_batch_s + (before_s or 0.0)


def _replicas(observation: Observation) -> list[ReplicaObservation]:
    return [replica for own in observation.replicas_by_element.values() for replica in own]


def work_s(observation: Observation, elements: Iterable[str]) -> float:
    """How long the busiest replicas of some elements worked, one element after the other."""
    own = (observation.replicas_by_element.get(name, ()) for name in elements)
    return sum(max((r.busy_s for r in replicas), default=0.0) for replicas in own)


def _arrival_cv(observed: Sequence[Observation]) -> float:
    squares = [o.arrivals.squared_variation for o in observed if o.arrivals is not None]
    known = [square for square in squares if square is not None]
    return math.sqrt(sum(known) / len(known)) if known else 0.0


def _service_cv(observed: Sequence[Observation]) -> float:
    """Over replicas that reported a variance, weighed by their tuples."""
    known = [
        (r.tuples_in, r.service_variance_s2 / r.service_s**2)
        for o in observed
        for r in _replicas(o)
        if r.service_variance_s2 is not None and r.service_s is not None and r.service_s > 0
    ]
    tuples = sum(number for number, _ in known)
    return math.sqrt(sum(number * square for number, square in known) / tuples) if tuples else 0.0


def _elements(
    observed: Sequence[Observation], configuration: Configuration, slot_loads: Mapping[str, tuple[float, ...]]
) -> tuple[ElementLoad, ...]:
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
                sum(r.cpu_s for r in own),
                sum(r.stalled_s for r in own),
                slot_loads.get(element.name, ()),
            )
        )
        outputs |= {port.stream: element.name for replica in own for port in replica.outputs}
    return tuple(loads)
