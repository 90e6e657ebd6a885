"""Executors that follow the replicas: asked for before a change that needs them, given back when replicas have left."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from penstock.control.live.executor_plan import Executor, ExecutorBounds, cores_by_host, surplus
from penstock.control.loop.observed_steps import setting_of
from penstock.control.routes.routing import narrowed
from penstock.model.executor_start import ExecutorStart
from penstock.plan.configuration import Configuration
from penstock.plan.placement.placement import Placement

_log = logging.getLogger(__name__)
ASSUMED_START_S = 5.0
PATIENCE_S = 60.0
_TRY_AGAIN_S = 600.0
_IDLE_S = 10.0
_LOOK_EVERY_S = 0.5


class Cluster(Protocol):
    """Where executors come from."""

    def executors(self) -> tuple[Executor, ...]: ...

    def ask(self, total: int) -> None: ...

    def give_back(self, executors: Sequence[Executor], total: int) -> None: ...


class Places(Protocol):
    """Where replicas run: on cores by host that are `staying`, None for all."""

    staying: Mapping[str, int] | None
    newest: Mapping[str, Placement]


class ExecutorPool:
    """The executors of one application, within bounds.

    An executor is given back after it was idle for `idle_s`, and no sooner than another would take to start.  Its
    replicas leave first.
    """

    def __init__(
        self,
        cluster: Cluster,
        places: Places,
        bounds: ExecutorBounds,
        *,
        clock: Callable[[], float] = time.monotonic,
        patience_s: float = PATIENCE_S,
        idle_s: float = _IDLE_S,
    ) -> None:
        self._cluster, self._places, self.bounds, self._clock = cluster, places, bounds, clock
        self._patience_s, self._idle_s = patience_s, idle_s
        self.start = ExecutorStart(ASSUMED_START_S)
        self._there = cluster.executors()
        self._looked_s = clock()
        self._asked_s: float | None = None
        self._asked_total = len(self._there)
        self._refused_until_s = float("-inf")
        self._idle_since_s: float | None = None
        self._leaving: tuple[Executor, ...] = ()
        self._left_s: float | None = None  # when they were given back
        self._full = False

    @property
    def executor_start_s(self) -> float | None:
        can_grow = len(self._there) < self.bounds.highest and self._clock() >= self._refused_until_s
        return self.start.cautious_s if self._full and can_grow else None

    def prepare(self, configuration: Configuration) -> Configuration | None:
        replicas = setting_of(configuration).replicas
        if replicas > self._cores() and self._left_s is None:
            self._stay()
        cores = self._cores()
        needed = self.bounds.needed(replicas)
        if replicas <= cores:
            self._asked_s = None
            return configuration
        if needed <= len(self._staying()) or self._clock() < self._refused_until_s:
            return narrowed(configuration, cores)
        if self._asked_s is None or needed != self._asked_total:
            self._ask(needed)
            return None
        if self._clock() - self._asked_s <= self._patience_s:
            return None
        self._give_up(needed)
        return narrowed(configuration, cores)

    def look(self, in_force: Configuration) -> None:
        now_s = self._clock()
        if now_s - self._looked_s < _LOOK_EVERY_S:
            return
        self._looked_s = now_s
        before, self._there = self._there, self._cluster.executors()
        self._learn_starts(before, now_s)
        replicas = setting_of(in_force).replicas
        self._full = replicas >= self._cores()
        if self._leaving:
            self._let_go(now_s)
        elif self._asked_s is None:
            self._find_idle(replicas, now_s)

    def close(self) -> None:
        """Executors stay: the session may be used on."""
        self._places.staying = None

    def _cores(self) -> int:
        return sum(executor.cores for executor in self._staying())

    def _staying(self) -> list[Executor]:
        return [executor for executor in self._there if executor not in self._leaving]

    def _ask(self, total: int) -> None:
        self._asked_s, self._asked_total = self._clock(), total
        _log.info("asked for %d executors; %d are there", total, len(self._there))
        self._cluster.ask(total)

    def _give_up(self, needed: int) -> None:
        _log.warning(
            "the master started %d of %d executors within %.0f s; replicas are limited to those",
            len(self._there), needed, self._patience_s,
        )  # fmt: skip
        self._cluster.ask(len(self._there))
        self._asked_s, self._refused_until_s = None, self._clock() + _TRY_AGAIN_S

    def _learn_starts(self, before: Sequence[Executor], now_s: float) -> None:
        known = {executor.name for executor in before}
        for _ in [executor for executor in self._there if executor.name not in known]:
            if self._asked_s is not None:
                self.start = self.start.learn(now_s - self._asked_s)

    def _find_idle(self, replicas: int, now_s: float) -> None:
        idle = len(self._there) - self.bounds.needed(replicas)
        if idle <= 0:
            self._idle_since_s = None
        elif self._idle_since_s is None:
            self._idle_since_s = now_s
        elif now_s - self._idle_since_s >= max(self._idle_s, self.start.cautious_s):
            self._leaving = surplus(self._there, self.bounds.needed(replicas), self._replicas_by_host())
            self._places.staying = cores_by_host(self._staying())
            self._idle_since_s = None

    def _let_go(self, now_s: float) -> None:
        gone = [e for e in self._leaving if e not in self._there]
        if self._left_s is not None:
            if len(gone) == len(self._leaving) or now_s - self._left_s > self._patience_s:
                self._stay()
        elif self._have_left():
            self._cluster.give_back(self._leaving, len(self._there) - len(self._leaving))
            self._left_s, self._asked_total = now_s, len(self._there) - len(self._leaving)

    def _have_left(self) -> bool:
        """Whether no host has more replicas than the cores that stay."""
        staying = cores_by_host(self._staying())
        replicas = self._replicas_by_host()
        return all(replicas.get(e.host, 0) <= staying.get(e.host, 0) for e in self._leaving)

    def _replicas_by_host(self) -> dict[str, int]:
        """Of the element that has most there: elements run one after the other."""
        most: Counter[str] = Counter()
        for placement in self._places.newest.values():
            most |= Counter(placement.hosts)
        return dict(most)

    def _stay(self) -> None:
        """Nobody leaves any more: they are gone, or needed after all."""
        self._leaving, self._left_s, self._idle_since_s = (), None, None
        self._places.staying = None
