"""The threads of a replica, as its task left them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplicaThreads:
    """`level` threads of at most `most` worked on blocks, with so many queues; one is the task's own thread.

    `waits`: operators were found to wait rather than compute, so that more threads than cores are of use. `holds_gil`
    names those that threads cannot speed up. `idle_cores` of the host were used by nobody. `reason` is the policy's.
    `queued` are the operators with a queue in front.
    """

    level: int
    most: int
    queues: int = 0
    waits: bool = False
    holds_gil: tuple[str, ...] = ()
    idle_cores: float | None = None
    reason: str = ""
    queued: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadsLeft:
    """What a task has to say of its threads: to people, and, as a text, to the task that goes on."""

    seen: ReplicaThreads
    settled: bool = True
    learned: str | None = None
