"""Schedules: which of the blocks that can be worked on a thread takes next."""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Protocol

from penstock.element.threads.stage import ThreadedStage
from penstock.element.threads.step import Step
from penstock.errors import InputError, did_you_mean

Task = tuple[ThreadedStage, Step]


class Schedule(Protocol):
    """Blocks in front of stages; whoever calls holds the element's lock."""

    def push(self, stage: ThreadedStage, step: Step) -> None: ...

    def pop(self) -> Task: ...

    def clear(self) -> None: ...

    def __len__(self) -> int: ...


class _ByRank:
    """A heap; a stage has a step once at most, so ranks differ."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, ThreadedStage, Step]] = []

    def pop(self) -> Task:
        return heapq.heappop(self._heap)[2:]

    def clear(self) -> None:
        self._heap.clear()

    def __len__(self) -> int:
        return len(self._heap)


class OldestFirst(_ByRank):
    """The lowest step, whenever it was queued (CLOUD 2.2); of one step what is nearest to its end."""

    def push(self, stage: ThreadedStage, step: Step) -> None:
        heapq.heappush(self._heap, (step.number, -stage.number, stage, step))


class NearestToSink(_ByRank):
    """The last stage of the program, and the lowest step there."""

    def push(self, stage: ThreadedStage, step: Step) -> None:
        heapq.heappush(self._heap, (-stage.number, step.number, stage, step))


class RoundRobin:
    """One stage after the other, each in the order its blocks came."""

    def __init__(self) -> None:
        self._queues: OrderedDict[int, deque[Task]] = OrderedDict()
        self._size = 0

    def push(self, stage: ThreadedStage, step: Step) -> None:
        self._queues.setdefault(stage.number, deque()).append((stage, step))
        self._size += 1

    def pop(self) -> Task:
        number, queue = self._queues.popitem(last=False)
        task = queue.popleft()
        if queue:
            self._queues[number] = queue
        self._size -= 1
        return task

    def clear(self) -> None:
        self._queues.clear()
        self._size = 0

    def __len__(self) -> int:
        return self._size


OLDEST_FIRST = "oldest_first"
SCHEDULES: dict[str, Callable[[], Schedule]] = {
    OLDEST_FIRST: OldestFirst,
    "round_robin": RoundRobin,
    "nearest_to_sink": NearestToSink,
}


def schedule_of(name: str) -> Schedule:
    """The schedule of a name."""
    if not isinstance(name, str) or name not in SCHEDULES:
        hint = did_you_mean(name, SCHEDULES)
        raise InputError(f"schedule is one of {', '.join(SCHEDULES)}; got {name!r}" + (f"; {hint}" if hint else ""))
    return SCHEDULES[name]()
