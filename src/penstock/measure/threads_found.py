"""What a policy has found about the threads of an element's replicas, and what it said last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.measure.observation import ReplicaObservation


@dataclass(frozen=True, slots=True)
class ThreadsFound:
    """Replicas of which the same is true: `level` of at most `most` threads, and the newest `reason` of the policy."""

    replicas: tuple[int, ...]
    level: int
    most: int
    settled: bool
    waits: bool
    reason: str


def threads_found(replicas: Sequence[ReplicaObservation]) -> tuple[ThreadsFound, ...]:
    """Of an element in one micro-batch; nothing of replicas whose threads are fixed."""
    found: dict[tuple[int, int, bool, bool, str], tuple[int, ...]] = {}
    for own in replicas:
        threads = own.threads
        if threads is not None and threads.reason:
            said = (threads.level, threads.most, own.settled, threads.waits, threads.reason)
            found[said] = (*found.get(said, ()), own.replica)
    return tuple(ThreadsFound(numbers, *said) for said, numbers in found.items())
