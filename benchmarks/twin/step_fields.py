"""Control steps of a live run beside the twin's under the same replicas, field by field.

In closed loop one other decision makes all that follows differ.  So the twin gets the replicas of the live run, and
what differs then is what it was fitted wrongly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, change_or_hold
from penstock.control.loop.loop import Record

_FAR, _IN_A_ROW = 0.2, 3  # a field differs from where on it is so far off, as a share, in so many steps in a row


def _cpu_ratio(seen: ControlStep) -> float | None:
    """The share of its time in which the busiest element computed."""
    busiest = max(seen.elements, key=lambda own: own.busy_s, default=None)
    return busiest.cpu_s / busiest.busy_s if busiest is not None and busiest.busy_s > 0 else None


_READ: dict[str, Callable[[ControlStep], float | None]] = {
    "rate_tuples_s": lambda own: own.rate_tuples_s,
    "latest_tuples_s": lambda own: own.latest_tuples_s,
    "arrival_cv": lambda own: own.arrival_cv,
    "replicas": lambda own: own.setting.replicas,
    "period_s": lambda own: own.period_s,
    "micro_batches": lambda own: own.micro_batches,
    "micro_batch_s": lambda own: own.micro_batch_s,
    "cap_tuples": lambda own: own.setting.micro_batch_tuples,
    "highest_cap_tuples": lambda own: own.highest_cap_tuples,
    "service_s": lambda own: own.service_s,
    "service_cv": lambda own: own.service_cv,
    "overhead_s": lambda own: own.overhead_s,
    "imbalance": lambda own: own.imbalance,
    "busy_ratio": lambda own: own.busy_ratio,
    "waiting_ratio": lambda own: own.waiting_ratio,
    "backlog_tuples": lambda own: own.backlog_tuples,
    "latency_mean_s": lambda own: own.latency_mean_s,
    "latency_p95_s": lambda own: own.latency_p95_s,
    "highest_replicas": lambda own: own.highest_replicas,
    "cpu_ratio": _cpu_ratio,
}


@dataclass(frozen=True, slots=True)
class Played:
    """A policy that goes where another run went: its replicas at the next of these moments."""

    times_s: tuple[float, ...]
    replicas: tuple[int, ...]
    name: str = "played"

    def start(self) -> None:
        return None

    def decide(self, state: None, seen: ControlStep) -> tuple[None, Decision]:
        place = min(int(np.searchsorted(self.times_s, seen.ended_at_s, side="right")), len(self.times_s) - 1)
        setting = replace(seen.setting, replicas=self.replicas[place])
        return state, change_or_hold(seen.setting, setting, "as the other run")


def played(records: Sequence[Record], lead_s: float) -> Played:
    """The replicas of a run whose load begins after a lead."""
    return Played(
        tuple(own.seen.ended_at_s + lead_s for own in records), tuple(own.seen.setting.replicas for own in records)
    )


@dataclass(frozen=True, slots=True)
class StepField:
    """One field at the moments of the live run's steps; None where it was not measured."""

    name: str
    times_s: tuple[float, ...]
    live: tuple[float | None, ...]
    simulated: tuple[float | None, ...]

    @property
    def off(self) -> float | None:
        """By how much the twin is off in the median of the steps in which both have it, as a share."""
        return median(known) if (known := [own for own in self._shares() if own is not None]) else None

    @property
    def bias(self) -> float | None:
        """The twin's mean over the live run's, less one."""
        pairs = [(a, b) for a, b in zip(self.live, self.simulated, strict=True) if a is not None and b is not None]
        total = sum(a for a, _ in pairs)
        return sum(b for _, b in pairs) / total - 1 if total else None

    @property
    def differs_from_s(self) -> float | None:
        """The moment from which on it is far off for several steps; None: never."""
        far = [own is not None and own > _FAR for own in self._shares()]
        rows = (place for place in range(len(far) - _IN_A_ROW + 1) if all(far[place : place + _IN_A_ROW]))
        place = next(rows, None)
        return None if place is None else self.times_s[place]

    def _shares(self) -> list[float | None]:
        known = [abs(own) for own in self.live if own is not None]
        least = 0.1 * sum(known) / len(known) if known else 0.0  # next to nothing is not far from nothing
        return [
            None if a is None or b is None else abs(b - a) / max(abs(a), least) if max(abs(a), least) > 0 else abs(b)
            for a, b in zip(self.live, self.simulated, strict=True)
        ]


def step_fields(live: Sequence[Record], simulated: Sequence[Record], end_s: float) -> tuple[StepField, ...]:
    """All fields; of the twin those of the step that each moment of the live run is in."""
    steps = [own.seen for own in live if own.seen.ended_at_s <= end_s]
    if not steps or not simulated:
        return ()
    times_s = tuple(own.ended_at_s for own in steps)
    ends_s = [own.seen.ended_at_s for own in simulated]
    beside = [simulated[min(int(np.searchsorted(ends_s, at)), len(ends_s) - 1)].seen for at in times_s]
    return tuple(
        StepField(name, times_s, tuple(map(read, steps)), tuple(map(read, beside))) for name, read in _READ.items()
    )
