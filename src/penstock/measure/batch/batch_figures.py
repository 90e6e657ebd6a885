"""The Observation of a micro-batch, put together from the reports of its tasks."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from penstock.measure.observation import BatchTimes, Observation, ReplicaObservation
from penstock.measure.task.task_report import Counts, TaskReport
from penstock.measure.task.triggers import merged_pieces

_TRIGGERS_MAX = 4096
Reports = Mapping[str, Sequence[TaskReport]]


@dataclass(frozen=True, slots=True)
class Moments:
    """When a micro-batch began, was planned, had run, and was committed: from then on what its tasks gave counts."""

    began_s: float
    planned_s: float
    ran_s: float
    committed_s: float

    @property
    def times(self) -> BatchTimes:
        return BatchTimes(self.planned_s - self.began_s, self.ran_s - self.planned_s, self.committed_s - self.ran_s)


def observation_of(
    batch: int, moments: Moments, reports: Reports, tuples_in: int, sinks: Container[str], dead_letters: int
) -> Observation:
    """What the tasks say, `tuples_in` being what they read from sources; what other clocks say is added later."""
    replicas = {element: tuple(sorted([r.replica for r in own], key=_number)) for element, own in reports.items()}
    everyone = [replica for own in replicas.values() for replica in own]
    return Observation(
        batch,
        moments.began_s,
        moments.committed_s - moments.began_s,
        tuples_in,
        sum([port.tuples for r in everyone for port in r.outputs if port.stream in sinks]),
        replicas,
        dead_letters=dead_letters,
        committed_at_s=moments.committed_s,
        times=moments.times,
        slot_tuples_by_element=_slot_tuples(reports, replicas),
        slot_cpu_us_by_element=_slot_cpu_us(reports),
    )


_number = attrgetter("replica")


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


def _slot_cpu_us(reports: Reports) -> dict[str, tuple[int, ...]]:
    """CPU by slot of elements whose slots run apart, in microseconds."""
    found = {}
    for element, own in reports.items():
        timed = [report.slot_cpu_ns for report in own if report.slot_cpu_ns is not None]
        if timed and len({len(each) for each in timed}) == 1:
            found[element] = tuple((np.sum(timed, axis=0) // 1000).tolist())
    return found
