"""The Observation: everything measured in one micro-batch, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ReplicaObservation:
    """One replica's share of a micro-batch."""

    replica: int
    tuples_in: int
    tuples_out: int
    busy_s: float
    cpu_s: float
    slots_rebuilt: int


@dataclass(frozen=True, slots=True)
class Latency:
    """Commit of a micro-batch minus the scheduled arrival of its tuples, in milliseconds."""

    p50_ms: float
    p95_ms: float
    p99_ms: float
    highest_ms: float


@dataclass(frozen=True, slots=True)
class Observation:
    """A micro-batch as it was: when, how long, what went through each element, and the lag behind the sources.

    `latency` and `backlog_tuples` are None for sources without a schedule of arrivals.
    """

    batch: int
    started_at_s: float
    micro_batch_s: float
    tuples_in: int
    tuples_out: int
    replicas_by_element: Mapping[str, tuple[ReplicaObservation, ...]] = field(default_factory=dict)
    latency: Latency | None = None
    backlog_tuples: int | None = None
    dead_letters: int = 0

    @property
    def rate_tuples_s(self) -> float:
        return self.tuples_in / self.micro_batch_s if self.micro_batch_s > 0 else 0.0

    @property
    def slots_rebuilt(self) -> int:
        return sum(r.slots_rebuilt for replicas in self.replicas_by_element.values() for r in replicas)
