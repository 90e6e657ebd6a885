"""The Observation of a micro-batch, put together from the reports of its tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from penstock.measure.observation import BatchTimes, Observation, PortObservation, ReplicaObservation
from penstock.measure.task_figures import Counts, TaskReport
from penstock.measure.triggers import merged_pieces

_TRIGGERS_MAX = 4096
Reports = Mapping[str, Sequence[TaskReport]]


class BatchTimer:
    """The moments of one micro-batch, in their order."""

    def __init__(self, batch: int, clock: Callable[[], float] = time.time) -> None:
        self.batch, self._clock = batch, clock
        self._moments_s = [clock()]

    def planned(self) -> None:
        self._moments_s.append(self._clock())

    def ran(self) -> None:
        self._moments_s.append(self._clock())

    def committed(self) -> None:
        """All that the tasks gave counts from now on."""
        self._moments_s.append(self._clock())

    @property
    def started_at_s(self) -> float:
        return self._moments_s[0]

    @property
    def committed_at_s(self) -> float:
        return self._moments_s[3]

    @property
    def times(self) -> BatchTimes:
        plan_s, run_s, publish_s = np.diff(self._moments_s).tolist()
        return BatchTimes(plan_s, run_s, publish_s)


def observation_of(timer: BatchTimer, reports: Reports, first: str, sinks: set[str], dead_letters: int) -> Observation:
    """What the tasks say, `first` being the element that reads the sources; what other clocks say is added later."""
    replicas = {
        element: tuple(sorted((r.replica for r in own), key=lambda r: r.replica)) for element, own in reports.items()
    }
    everyone = [replica for own in replicas.values() for replica in own]
    return Observation(
        timer.batch,
        timer.started_at_s,
        timer.committed_at_s - timer.started_at_s,
        sum(r.tuples_in for r in replicas.get(first, ())),
        _tuples((p for r in everyone for p in r.outputs), sinks),
        replicas,
        dead_letters=dead_letters,
        committed_at_s=timer.committed_at_s,
        times=timer.times,
        slot_tuples_by_element=_slot_tuples(reports, replicas),
    )


def taken_of(reports: Reports) -> dict[str, tuple[int, int]]:
    """The offsets of each source that a micro-batch took: the first one, and the one behind the last."""
    found: dict[str, tuple[int, int]] = {}
    for report in (report for own in reports.values() for report in own):
        for source, (start, stop) in report.taken.items():
            first, end = found.get(source, (start, stop))
            found[source] = (min(first, start), max(end, stop))
    return found


def triggers_of(reports: Reports) -> Counts:
    """What triggered all results of a micro-batch."""
    return merged_pieces((report.triggers for own in reports.values() for report in own), _TRIGGERS_MAX)


def _tuples(ports: Iterable[PortObservation], streams: set[str]) -> int:
    return sum(port.tuples for port in ports if port.stream in streams)


def _slot_tuples(reports: Reports, replicas: Mapping[str, Sequence[ReplicaObservation]]) -> dict[str, tuple[int, ...]]:
    """Tuples by slot; where some tasks looked at none of theirs, the others' stand for them."""
    summed: dict[str, Counts] = {}
    for report in (report for own in reports.values() for report in own):
        for element, counts in report.slot_tuples_by_element.items():
            summed[element] = summed[element] + counts if element in summed else counts
    found = {}
    for element, counts in summed.items():
        arrived, counted = sum(r.tuples_in for r in replicas.get(element, ())), int(counts.sum())
        if counted and arrived and abs(arrived - counted) > len(counts):  # more than rounding
            counts = np.rint(counts * (arrived / counted)).astype(np.int64)
        found[element] = tuple(counts.tolist())
    return found
