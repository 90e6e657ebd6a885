"""Finds a service behind an element that is the bottleneck: more replicas, and still no more tuples."""

from __future__ import annotations

from dataclasses import dataclass, replace

_USEFUL_PART = 0.25  # of the gain that replicas should bring
_CLEAR_RATIO = 1.3  # fewer replicas more say nothing: a gain of a tenth is lost in the noise of measured times


@dataclass(frozen=True, slots=True)
class Seen:
    """What so many replicas were able to do, and in which step."""

    replicas: int
    computation_s: float
    step: int
    clock_ghz: float = 1.0

    @property
    def capacity_tuples_s(self) -> float:
        return self.replicas / self.computation_s


@dataclass(frozen=True, slots=True)
class ServiceLimit:
    """Compares the capacity of different numbers of replicas, as seen at most `memory` steps ago.

    A tuple that waits for a full service takes each replica longer the more replicas there are: its time is
    max(own time, replicas / limit).
    """

    memory: int = 30
    seen: tuple[Seen, ...] = ()
    step: int = 0

    def learn(self, replicas: int, computation_s: float, clock_ghz: float = 1.0) -> ServiceLimit:
        """Forgets what cannot be compared: other replicas before the time of the same ones moved, or at another clock.

        A tuple that takes longer for its own sake would else be taken for one that waits for a service.
        """
        step = self.step + 1
        before = next((s for s in self.seen if s.replicas == replicas), None)
        moved = before is not None and not 1 / _CLEAR_RATIO < computation_s / before.computation_s < _CLEAR_RATIO
        kept = [
            s
            for s in self.seen
            if s.replicas != replicas and step - s.step <= self.memory and s.clock_ghz == clock_ghz and not moved
        ]
        return replace(self, seen=(*kept, Seen(replicas, computation_s, step, clock_ghz)), step=step)

    @property
    def limit_tuples_s(self) -> float:
        """Infinite where every replica more did more."""
        return min((more.capacity_tuples_s for _, more in self._useless()), default=float("inf"))

    def own_computation_s(self, measured_s: float) -> float:
        """The time of a tuple without the wait for a full service."""
        return min((fewer.computation_s for fewer, _ in self._useless()), default=measured_s)

    def _useless(self) -> list[tuple[Seen, Seen]]:
        """Pairs in which clearly more replicas brought less than a quarter of what they should have."""
        return [
            (fewer, more)
            for fewer in self.seen
            for more in self.seen
            if more.replicas >= _CLEAR_RATIO * fewer.replicas
            and more.capacity_tuples_s
            < fewer.capacity_tuples_s * (1 + _USEFUL_PART * (more.replicas / fewer.replicas - 1))
        ]
