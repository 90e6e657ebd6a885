"""A run on local Spark, as fast as it goes, whose dashboard is stopped and goes on in turns."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import penstock as ps
from benchmarks.dashboard.turns import Commit, Turn
from benchmarks.dashboard.watched import Watched, watched
from benchmarks.report import Show
from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.errors import InputError
from penstock.host.cores import own_cores


@dataclass(frozen=True, slots=True)
class Effort:
    """`pairs` of turns, the first of each pair by turns without and with the dashboard, so that drifts cancel out.

    Turns are short: rates drift by more than a tenth within minutes, which long turns would take for a cost.
    """

    warm_s: float = 30.0
    turn_s: float = 1.5
    pairs: int = 60
    settle_s: float = 4.0
    steady_s: float = 12.0  # with one client, and with twenty


QUICK = Effort(20.0, 1.5, 8, 3.0, 8.0)


@dataclass(slots=True)
class WatchedRun:
    """The turns, when micro-batches were committed, and shares of the machine's CPU."""

    turns: list[Turn] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    cpu_one: float = 0.0
    cpu_twenty: float = 0.0
    memory_mb: float = 0.0
    _newest: int = -1

    def take(self, handle: ps.Handle) -> None:
        """The micro-batches that are new."""
        own = [o for o in handle.result.observations if o.batch > self._newest and o.committed_at_s is not None]
        self.commits += [(o.committed_at_s, o.tuples_in) for o in own if o.committed_at_s is not None]
        self._newest = own[-1].batch if own else self._newest


def measure_watched_run(effort: Effort, folder: Path, show: Show) -> WatchedRun:
    found = WatchedRun()
    app = vwap_per_ticker(source=ps.sources.trace("unbounded", seed=7), sink=ps.sinks.discard())
    handle = ps.start(app, checkpoint=folder / "checkpoint", session=None)
    try:
        show("warming up")
        _warm_up(handle, effort.warm_s)
        with watched(handle.checkpoint.directory, clients=1) as own:
            _wait(handle, effort.settle_s)
            show("one client")
            found.cpu_one = _cpu_share(handle, own, effort.steady_s)
            for pair in range(effort.pairs):
                show(f"turns without and with a client: pair {pair + 1} of {effort.pairs}")
                for is_watched in (False, True) if pair % 2 == 0 else (True, False):
                    found.turns.append(_turn(handle, own, effort.turn_s, is_watched=is_watched))
                found.take(handle)
        show("twenty clients")
        with watched(handle.checkpoint.directory, clients=20) as own:
            _wait(handle, effort.settle_s)
            found.cpu_twenty = _cpu_share(handle, own, effort.steady_s)
            found.memory_mb = own.memory_mb
    finally:
        handle.stop()
    found.take(handle)
    return found


def _turn(handle: ps.Handle, own: Watched, seconds: float, *, is_watched: bool) -> Turn:
    """What a dashboard misses while it is stopped it reads in its own next turn, which so costs more than usual."""
    own.go_on(goes=is_watched)
    begin_s = time.time()
    _wait(handle, seconds)
    return Turn(begin_s, time.time(), is_watched)


def _cpu_share(handle: ps.Handle, own: Watched, seconds: float) -> float:
    begin_s, before_s = time.monotonic(), own.cpu_s
    _wait(handle, seconds)
    return (own.cpu_s - before_s) / ((time.monotonic() - begin_s) * own_cores())


def _warm_up(handle: ps.Handle, seconds: float) -> None:
    """Waits so long, and until the first micro-batch is over: a busy machine takes a minute to get there."""
    _wait(handle, seconds)
    while handle.observe() is None:
        _wait(handle, 1.0)


def _wait(handle: ps.Handle, seconds: float) -> None:
    if handle.wait(seconds):
        raise InputError("the run that the dashboard was to show has ended")
