"""The report of a task on its way to the driver: plain tuples, so that a task makes no values that only others read."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.measure.observation import OperatorObservation, PortObservation, ReplicaObservation
from penstock.measure.task.arrival_pieces import PlainArrivals

Counts = npt.NDArray[np.int64]
# (a replica's figures by position, taken, rows of triggers, slots by element as bytes, arrivals by source, CPU by slot
# as bytes); ports and operators of the figures are tuples by position as well.
PlainReport = tuple[
    tuple[Any, ...], Mapping[str, tuple[int, int]], Sequence[Sequence[int]], Mapping[str, bytes],
    Mapping[str, PlainArrivals], bytes | None,
]  # fmt: skip
_INPUTS, _OUTPUTS, _OPERATORS = 7, 8, 9
_members = {
    kind: attrgetter(*(own.name for own in fields(kind)))
    for kind in (ReplicaObservation, PortObservation, OperatorObservation)
}


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A task's figures; `taken` has the offsets (first, end) of each source, `triggers` is a table of Triggers.

    `slot_cpu_ns` is CPU by slot of its own element, None where its slots do not run apart.
    """

    replica: ReplicaObservation
    taken: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    triggers: Counts = field(default_factory=lambda: np.empty((0, 4), np.int64))
    slot_tuples_by_element: Mapping[str, Counts] = field(default_factory=dict)
    arrivals: Mapping[str, PlainArrivals] = field(default_factory=dict)
    slot_cpu_ns: Counts | None = None

    @property
    def plain(self) -> PlainReport:
        """What `task_report` makes it from."""
        own = list(_members[ReplicaObservation](self.replica))
        for place, kind in ((_INPUTS, PortObservation), (_OUTPUTS, PortObservation), (_OPERATORS, OperatorObservation)):
            own[place] = tuple(_members[kind](part) for part in own[place])
        slots = {name: counts.tobytes() for name, counts in self.slot_tuples_by_element.items()}
        timed = None if self.slot_cpu_ns is None else self.slot_cpu_ns.tobytes()
        return tuple(own), self.taken, self.triggers.tolist(), slots, self.arrivals, timed


def task_report(plain: PlainReport) -> TaskReport:
    figures, taken, rows, slots, arrivals, timed = plain
    own = list(figures)
    # A run keeps some thousand Observations: each would have its names anew.
    own[_INPUTS] = tuple([PortObservation(sys.intern(name), *rest) for name, *rest in own[_INPUTS]])
    own[_OUTPUTS] = tuple([PortObservation(sys.intern(name), *rest) for name, *rest in own[_OUTPUTS]])
    own[_OPERATORS] = tuple([OperatorObservation(sys.intern(name), *rest) for name, *rest in own[_OPERATORS]])
    replica = ReplicaObservation(*own)
    triggers = np.array(rows, np.int64).reshape(-1, 4)
    return TaskReport(
        replica, taken, triggers, {name: np.frombuffer(counts, np.int64) for name, counts in slots.items()}, arrivals,
        None if timed is None else np.frombuffer(timed, np.int64),
    )  # fmt: skip


def encode(plain: PlainReport) -> bytes:
    return pickle.dumps(plain, protocol=5)


def decode(payload: bytes | memoryview) -> TaskReport:
    return task_report(pickle.loads(payload))
