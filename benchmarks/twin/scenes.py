"""The applications that the twin is compared on: vwap, trading, and trading that waits for a service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.saso.live.run import SYMBOLS
from benchmarks.spark.applications import KEYED, vwap_on
from penstock import sinks, sources
from penstock.app.application import Application
from penstock.cli.demo.trading import market, trading
from penstock.plan.configuration import Configuration

CORES, TASK_SLOTS = 2, 16
Rate = str  # a name that traces know, or the path of a trace


@dataclass(frozen=True, slots=True)
class Scene:
    """An application over a rate, its keyed element, and the replicas of that element that are tried.

    `fitted`: replicas of the one run that the twin learns from, one number after the other, so that it sees what more
    of them cost and what a change does; `tried`: highest throughput is predicted for each; `late`: latency is predicted
    for these.  None of these two is in `fitted`.
    """

    name: str
    application: Callable[[Rate], Application]
    element: str
    fitted: tuple[int, ...]
    tried: tuple[int, ...]
    late: int

    def configuration(self, replicas: int) -> Configuration:
        """The application's default on two replicas, the keyed element on so many."""
        return Configuration.of(self.application("unbounded"), 2).with_replicas(self.element, replicas)


def scenes(service_port: int) -> tuple[Scene, ...]:
    """All three; the service listens on a port of this machine."""
    return (
        Scene("vwap", _vwap, KEYED, (1, 3), (2, 4), 2),
        Scene("trading", lambda rate: _trading(rate, None), "windows", (1, 3), (2, 4), 2),
        Scene("service-bound", lambda rate: _trading(rate, service_port), "windows", (3, 6), (2, 4, 8), 8),
    )


def _vwap(rate: Rate) -> Application:
    return vwap_on(sources.trace(rate, None), sinks.discard())


def _trading(rate: Rate, service: int | None) -> Application:
    return trading(market(rate, None, speed_up=1.0, symbols=SYMBOLS), service=service, sink=sinks.discard())
