"""How many tuples each slot has: exact where tuples are dealt out anyway, else from some of the blocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from penstock.measure.task.sampling_interval import Pace, Turn

Counts = npt.NDArray[np.int64]


class _Sample:
    def __init__(self) -> None:
        self.counts: Counts | None = None
        self.tuples = self.sampled_tuples = 0


class SlotCounts:
    """Tuples by slot, for each keyed element that a task gives tuples to."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._samples: dict[str, _Sample] = {}
        self.spent_ns = self._asked = self._looked = self.counted_blocks = 0

    def count(self, element: str, counts: Counts) -> None:
        """A block whose tuples were counted by slot; the counts are this one's from now on."""
        self.counted_blocks += 1
        tuples = int(counts.sum())
        self._add(element, tuples, counts, tuples)

    def sample(self, element: str, tuples: int, slots: int, slots_of: Callable[[], npt.NDArray[np.int32]]) -> None:
        """A block that nobody needs the slots of; some of them are looked at all the same."""
        self._asked += 1
        if not self._turn.is_due():
            self._add(element, tuples, None, 0)
            return
        start = time.thread_time_ns()
        self._add(element, tuples, np.bincount(slots_of(), minlength=slots), tuples)
        self.spent_ns += time.thread_time_ns() - start
        self._looked += 1

    def adapt(self, work_ns: float) -> None:
        """Makes looking rarer or more frequent for the next task, by what it cost in this one."""
        if self._looked:
            self._turn.pace.adapt(work_ns, self._asked, self.spent_ns / self._looked)

    def counts_by_element(self) -> dict[str, Counts]:
        """The counts, scaled up where they are of some of the tuples."""
        found = {}
        for element, own in self._samples.items():
            if own.counts is not None and own.sampled_tuples:
                scale = own.tuples / own.sampled_tuples
                found[element] = own.counts if scale == 1 else np.rint(own.counts * scale).astype(np.int64)
        return found

    def _add(self, element: str, tuples: int, counts: Counts | None, sampled_tuples: int) -> None:
        own = self._samples.setdefault(element, _Sample())
        own.tuples += tuples
        own.sampled_tuples += sampled_tuples
        if own.counts is None:
            own.counts = counts
        elif counts is not None:
            own.counts += counts


@lru_cache(maxsize=1)
def counting_ns() -> int:
    """What the counts of one block cost here."""
    counts, rounds, spent_ns = SlotCounts(Turn(Pace())), 100, 0
    own = np.zeros(512, np.int64)
    for _ in range(2):
        start_ns = time.thread_time_ns()
        for _ in range(rounds):
            counts.count("a", own)
        spent_ns = time.thread_time_ns() - start_ns
    return spent_ns // rounds
