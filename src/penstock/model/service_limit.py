"""Finds a service behind an element that is the bottleneck: more replicas, and still no more tuples."""

from __future__ import annotations

from dataclasses import dataclass, replace

_USEFUL_PART = 0.25  # of the gain that replicas should bring
_MOVED_RATIO = 1.2  # of two times of a tuple with the same replicas
_LESS = 0.85
_CLEAR_RATIO = 1.3  # fewer replicas more say nothing: a gain of a tenth is lost in the noise of measured times


@dataclass(frozen=True, slots=True)
class Seen:
    """What so many replicas were able to do, and in which step; not `steady`: maybe for a part of it only."""

    replicas: int
    computation_s: float
    step: int
    clock_ghz: float = 1.0
    steady: bool = True

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
    moved: bool = False  # the time of a tuple, in the step at hand

    def learn(self, replicas: int, computation_s: float, clock_ghz: float = 1.0) -> ServiceLimit:
        """One more step; what other replicas did at another clock cannot be compared."""
        step = self.step + 1
        earlier = [
            s for s in self.seen if s.replicas != replicas and step - s.step <= self.memory and s.clock_ghz == clock_ghz
        ]
        own = Seen(replicas, computation_s, step, clock_ghz, not self.moved)
        return replace(self, seen=(*earlier, own), step=step, moved=False)

    def checked(self, replicas: int, computation_s: float) -> ServiceLimit:
        """Without anything seen before, where the same replicas take clearly longer now, or less long.

        A tuple that takes longer for its own sake would else be taken for one that waits for a service: what fewer
        replicas did is from before.
        """
        before = next((s for s in self.seen if s.replicas == replicas), None)
        is_as_before = before is None or 1 / _MOVED_RATIO < computation_s / before.computation_s < _MOVED_RATIO
        if is_as_before and not self._is_contradicted(replicas, computation_s):
            return self
        return replace(self, seen=(), moved=True)

    def contradicted(self, replicas: int, computation_s: float) -> ServiceLimit:
        """Forgets what was seen where as many replicas, or fewer, take clearly longer now.

        A full service makes tuples take longer only with more replicas.  Part of a step is enough to see it.

        >>> known = ServiceLimit().learn(7, 0.001)
        >>> len(known.contradicted(6, 0.0018).seen), len(known.contradicted(12, 0.0018).seen)
        (0, 1)
        """
        return replace(self, seen=()) if self._is_contradicted(replicas, computation_s) else self

    def _is_contradicted(self, replicas: int, computation_s: float) -> bool:
        return any(s.replicas >= replicas and computation_s > _CLEAR_RATIO * s.computation_s for s in self.seen)

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
            if fewer.steady
            and more.replicas >= _CLEAR_RATIO * fewer.replicas
            and more.capacity_tuples_s
            < fewer.capacity_tuples_s * (1 + _USEFUL_PART * (more.replicas / fewer.replicas - 1))
            and not self._is_outdated(fewer, more)
        ]

    def _is_outdated(self, fewer: Seen, more: Seen) -> bool:
        """Whether others have done less since than a full service would have let them."""
        return any(
            other.capacity_tuples_s < _LESS * min(other.replicas / fewer.computation_s, more.capacity_tuples_s)
            for other in self.seen
            if other.step > fewer.step and other.replicas >= fewer.replicas
        )
