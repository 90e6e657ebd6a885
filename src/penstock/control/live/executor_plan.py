"""Which executors an application needs, and which it can give back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Executor:
    """One executor: its name to Spark, its host, and how many tasks it runs at once."""

    name: str
    host: str
    cores: int


@dataclass(frozen=True, slots=True)
class ExecutorBounds:
    """The least and the most executors, and the cores of one."""

    lowest: int
    highest: int
    cores_each: int

    def needed(self, replicas: int) -> int:
        """Executors for so many replicas, within the bounds.

        >>> ExecutorBounds(1, 4, cores_each=2).needed(5)
        3
        """
        return min(max(math.ceil(replicas / self.cores_each), self.lowest), self.highest)


def surplus(executors: Sequence[Executor], needed: int, replicas_by_host: Mapping[str, int]) -> tuple[Executor, ...]:
    """What can go: on the hosts with the fewest replicas for their cores first, so that little state moves.

    >>> two = (Executor("0", "a", 2), Executor("1", "b", 2))
    >>> surplus(two, 1, {"a": 2, "b": 1})
    (Executor(name='1', host='b', cores=2),)
    """
    cores = Counter[str]()
    for executor in executors:
        cores[executor.host] += executor.cores
    ordered = sorted(executors, key=lambda e: (replicas_by_host.get(e.host, 0) / cores[e.host], e.host, e.name))
    return tuple(ordered[: max(len(executors) - needed, 0)])


def cores_by_host(executors: Sequence[Executor]) -> dict[str, int]:
    cores: dict[str, int] = {}
    for executor in executors:
        cores[executor.host] = cores.get(executor.host, 0) + executor.cores
    return cores
