"""Two of the situations that break autoscalers, live: the service-bound trading application on Spark under MPC."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import Show
from benchmarks.saso.live.comparisons import SERVICE_MS, SERVICE_REPLICAS
from benchmarks.saso.live.run import Controlled, Meanwhile, capacity_tuples_s, run_controlled
from benchmarks.saso.loads import Load
from benchmarks.saso.scenarios import behind_s, mean_replicas
from penstock.cli.demo.limit_prices import ask
from penstock.cli.demo.price_service import price_service
from penstock.cli.demo.trading import EVERY_QUOTES
from penstock.connectors.trace.arrivals import counted_arrivals
from penstock.control.goals.goal import throughput
from penstock.control.loop.loop import Record
from penstock.testing import local_session

_REPLICA_TUPLES_S = 1000 * EVERY_QUOTES / SERVICE_MS  # of one that does nothing but wait for the service


@dataclass(frozen=True, slots=True)
class Live:
    """A situation on Spark: by seconds, how many replicas the service alone keeps busy; when it is slower, by how much.

    The service sets how many replicas are needed, not the machine, so their number is known beforehand.
    """

    name: str
    question: str
    pieces: tuple[tuple[int, float], ...]
    verdict: Callable[[Sequence[Record]], bool]
    first: int
    slower_s: tuple[float, float] = (0.0, 0.0)
    slower: float = 1.0

    def load(self) -> Load:
        rates = np.concatenate([np.full(seconds, busy * _REPLICA_TUPLES_S) for seconds, busy in self.pieces])
        arrivals = counted_arrivals(np.arange(len(rates) + 1.0), np.round(rates).astype(np.int64))
        return Load(self.name, arrivals, float(len(rates)), 1.0)


@dataclass(frozen=True, slots=True)
class LiveOutcome:
    """A situation as it went."""

    live: Live
    run: Controlled

    @property
    def passes(self) -> bool:
        return bool(self.live.verdict(self.run.records)) and not self.run.dead_letters


def lives() -> list[Live]:
    return [
        Live(
            "cold spike, live", "from 1 replica to the maximum and back, on Spark",
            ((15, 0.3), (30, 4.0), (25, 0.3)), _spike_is_met, first=1,
        ),
        Live(
            "service time, live", "the service takes twice as long for a while, on Spark",
            ((75, 1.8),), _slowness_is_followed, first=4, slower_s=(25.0, 50.0), slower=2.0,
        ),
    ]  # fmt: skip


def run_lives(progress: Show) -> Iterator[LiveOutcome]:
    """All of them on one session, each as soon as it is done."""
    with tempfile.TemporaryDirectory(prefix="penstock-live-") as folder, local_session(task_slots=16) as session:
        for live in lives():
            with price_service(SERVICE_MS) as port:
                capacity = capacity_tuples_s(session, SERVICE_REPLICAS, port)
                progress(f"{live.name}: {live.question}; {capacity:,.0f} tuples/s on all replicas")
                run = run_controlled(
                    session, "service-bound", live.load(), throughput(), "mpc", "",
                    highest=SERVICE_REPLICAS, capacity=capacity, service=port, folder=Path(folder), first=live.first,
                    meanwhile=_slow_down(live, port),
                )  # fmt: skip
                yield LiveOutcome(live, run)


def _slow_down(live: Live, port: int) -> Meanwhile:
    begin_s, end_s = live.slower_s

    def meanwhile(past_s: float) -> None:
        factor = live.slower if begin_s <= past_s < end_s else 1.0
        ask("127.0.0.1", port, b"d", SERVICE_MS * factor)

    return meanwhile


def _spike_is_met(records: Sequence[Record]) -> bool:
    """At least the replicas that the service alone keeps busy, within five seconds and for as long as it lasts."""
    up, back = mean_replicas(records, 20, 45) >= 4, mean_replicas(records, 60, 80) <= 3
    return up and back and behind_s(records) <= 15


def _slowness_is_followed(records: Sequence[Record]) -> bool:
    before, during, after = (mean_replicas(records, *times_s) for times_s in ((12, 25), (32, 50), (62, 78)))
    return during >= 1.3 * before and after <= 1.25 * before + 0.5 and behind_s(records) <= 15
