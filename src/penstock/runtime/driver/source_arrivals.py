"""What the driver knows of the partitions of sources: which there are, and which are idle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from penstock.app.graph import Graph
from penstock.plan.elements.source_partitions import check_one_partition, has_partitions, time_windows_by_source
from penstock.plan.elements.watermarks import bounds_s
from penstock.runtime.replica.arrivals import NEVER_S, Arrivals
from penstock.state.checkpoint.batch_plan import BatchPlan

Arrived = Mapping[str, Sequence[Arrivals]]  # by source, what each task said


class SourceArrivals:
    """Follows what micro-batches deliver; `clock` gives seconds that never go back."""

    def __init__(self, graph: Graph, clock: Callable[[], float]) -> None:
        self._graph, self._clock = graph, clock
        self._timeouts_s = {s.name: s.idle_timeout_s for s in graph.sources if s.idle_timeout_s is not None}
        self._in_partitions = frozenset(s.name for s in graph.sources if has_partitions(s))
        self._one_partition = frozenset(time_windows_by_source(graph))
        self._counts: dict[str, int] = {}
        self._arrived_s: dict[tuple[str, int], float] = {}
        self._began_s: float | None = None
        self._bounds_s = bounds_s(graph)
        self._highest_s: dict[tuple[str, int], float] = {}
        self._watermark_s: float | None = None

    def check(self, arrived: Arrived) -> None:
        """InputError where a source that must come in one partition came in several: the batch must not count."""
        for name in self._one_partition & set(arrived):
            check_one_partition(self._graph, name, len(_partitions(arrived[name])))

    def note(self, arrived: Arrived) -> None:
        """A batch that counts has delivered this."""
        now_s = self._clock()
        for name, parts in arrived.items():
            for part in parts if name in self._bounds_s else ():
                for partition, highest_s in zip(part["partition"].tolist(), part["highest_s"].tolist(), strict=True):
                    before_s = self._highest_s.get((name, partition), NEVER_S)
                    self._highest_s[name, partition] = max(before_s, highest_s)
            for partition in _partitions(parts):
                self._arrived_s[name, partition] = now_s
                if name in self._in_partitions:
                    self._counts[name] = max(self._counts.get(name, 0), partition + 1)

    def partitions(self, before: BatchPlan | None) -> dict[str, int]:
        """How many partitions each source has that may have several, as far as they have been seen."""
        for name, count in before.partitions.items() if before is not None else ():
            self._counts[name] = max(self._counts.get(name, 0), count)
        return dict(self._counts)

    def idle(self) -> dict[str, tuple[int, ...]]:
        """The partitions, by source, that have delivered nothing for longer than their source may."""
        now_s = self._clock()
        found = {
            name: tuple(part for part in self._known(name) if now_s - self._last_s(name, part) > timeout_s)
            for name, timeout_s in self._timeouts_s.items()
        }
        return {name: partitions for name, partitions in found.items() if partitions}

    def watermark_s(self, idle: Mapping[str, tuple[int, ...]]) -> float | None:
        """The lowest, over partitions that are not idle, of highest event time less the source's bound; it never falls.

        None before all have delivered something.
        """
        behind_s = [
            self._highest_s.get((name, part), NEVER_S) - bound_s
            for name, bound_s in self._bounds_s.items()
            for part in self._known(name)
            if part not in idle.get(name, ())
        ]
        if behind_s and min(behind_s) > NEVER_S:
            self._watermark_s = max(min(behind_s), NEVER_S if self._watermark_s is None else self._watermark_s)
        return self._watermark_s

    def idle_in_s(self, idle: Mapping[str, tuple[int, ...]]) -> float | None:
        """How long until another partition than the idle ones becomes idle; None where none can."""
        now_s = self._clock()
        left_s = [
            self._last_s(name, part) + timeout_s - now_s
            for name, timeout_s in self._timeouts_s.items()
            for part in self._known(name)
            if part not in idle.get(name, ())
        ]
        return max(min(left_s), 0.0) if left_s else None

    def _known(self, name: str) -> range:
        """Each source has a partition 0 from the start."""
        return range(max(self._counts.get(name, 1), 1))

    def _last_s(self, name: str, partition: int) -> float:
        """When a partition delivered last; one that never did counts from when it was first asked about."""
        if self._began_s is None:
            self._began_s = self._clock()
        return self._arrived_s.get((name, partition), self._began_s)


class IdleAlarm:
    """Has a micro-batch run at the moment when a source becomes idle, although no tuples may come."""

    _LATER_S = 0.01  # a source is idle when more than its time is over

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._timer: threading.Timer | None = None

    def set(self, in_s: float | None) -> None:
        """Replaces the alarm that was set before; None: there is nothing to wait for."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if in_s is not None:
            self._timer = threading.Timer(in_s + self._LATER_S, self._wake)
            self._timer.daemon = True
            self._timer.start()


def _partitions(parts: Sequence[Arrivals]) -> list[int]:
    delivered = [part["partition"][part["tuples"] > 0] for part in parts]
    found: list[int] = np.unique(np.concatenate(delivered)).tolist() if delivered else []
    return found
