"""A run that was made up: its journal is written as a driver writes it, without Spark."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from penstock.control.decision import Alternative, Expectation
from penstock.control.goals.goal import Price, latency
from penstock.control.goals.limits import Limits
from penstock.control.journal.display_graph import DisplayElement, DisplayGraph, DisplayOperator
from penstock.control.journal.history import DEFAULT_JOURNAL, History, JournalSettings
from penstock.control.journal.journal import Journal
from penstock.control.journal.recorded_decision import RecordedDecision, StepFigures
from penstock.control.journal.run_start import RunStart
from penstock.control.setting import Setting
from penstock.measure.observation import (
    ArrivalObservation,
    BatchTimes,
    CpuObservation,
    Latency,
    Observation,
    OperatorObservation,
    ReplicaObservation,
)
from penstock.measure.replica_threads import ReplicaThreads
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route

BEGIN_S = 1_700_000_000.0
PERIOD_S = 0.5
MARKUP = "<img src=x onerror=alert(1)>"
START = RunStart(
    1.0, latency(p95_ms=500), Limits(max_replicas=4), "mpc", Price(0.05), cores=4, executors=0, at_s=BEGIN_S
)


def graph(names: Sequence[str] = ("quotes", "trades", "window", "out")) -> DisplayGraph:
    quotes, trades, window, out = names
    operators = (
        DisplayOperator(quotes, "source", (), "trades"), DisplayOperator(trades, "functor", (quotes,), "trades"),
        DisplayOperator(window, "aggregate", (trades,), "window"), DisplayOperator(out, "sink", (window,), "window"),
    )  # fmt: skip
    return DisplayGraph(operators, (DisplayElement("trades"), DisplayElement("window", "key")))


def configured(replicas: int) -> Configuration:
    return Configuration(
        (ElementConfiguration("trades", replicas), ElementConfiguration("window", replicas, even_route(replicas, 64)))
    )


def seen(batch: int, replicas: int = 2, p95_ms: float = 200.0, begin_s: float = BEGIN_S) -> Observation:
    """Half a second of 1,000 tuples; the second element has threads and a queue."""
    at_s = begin_s + PERIOD_S * (batch + 1)

    def own(operators: Sequence[str], threads: ReplicaThreads | None) -> tuple[ReplicaObservation, ...]:
        return tuple(
            ReplicaObservation(
                i, 500, 250, 0.3, 0.2, 0, threads=threads,
                operators=tuple(OperatorObservation(name, 500, 250, 4, 1, 0.05, 1000) for name in operators),
            )
            for i in range(replicas)
        )  # fmt: skip

    threads = ReplicaThreads(2, 8, 1, queued=("window",))
    return Observation(
        batch, at_s - 0.45, 0.45, 1000, 300, {"trades": own(["trades"], None), "window": own(["window"], threads)},
        Latency(p95_ms / 2, p95_ms, p95_ms * 1.5, p95_ms * 2, p95_ms * 0.6), 40 + batch, 0, at_s, 0.1,
        ArrivalObservation(1003, PERIOD_S), BatchTimes(0.01, 0.3, 0.02, 0.05),
        CpuObservation(0.3, 0.1, 0, 0.02, 0.2, 0), {"window": tuple(range(64))},
    )  # fmt: skip


def decided(step: int, before: int, after: int, *, broken: bool = False) -> RecordedDecision:
    return RecordedDecision(
        step, "mpc", Setting(before), Setting(after), Setting(after), f"demand up to {step * 100} tuples/s",
        StepFigures(2000.0, 1990.0, 40.0 + step, 0.7, 0.12, 0.2, watts_estimated=20.0),
        Expectation(2010.0, 5000.0, 0.11, 30.0), broken=broken, requested=before != after,
        rules=("guard",) if step % 5 == 0 else (), until_s=3.0 if step % 5 == 0 else None,
        alternatives=(Alternative(Setting(after + 1), 1.25),), highest_useful_replicas=4,
    )  # fmt: skip


def write_run(
    folder: Path,
    batches: int = 60,
    *,
    end: str | None = "stopped",
    names: Sequence[str] = ("quotes", "trades", "window", "out"),
    settings: JournalSettings = DEFAULT_JOURNAL,
    begin_s: float = BEGIN_S,
) -> Path:
    """A control step every two micro-batches; replicas change at every tenth step."""
    folder.mkdir(parents=True, exist_ok=True)
    path, shown = folder / "journal.jsonl", graph(names)
    now_s = begin_s

    def clock() -> float:
        return now_s

    journal = Journal(path, "prices", part_bytes=settings.part_bytes, graph=shown)
    history = History(path, lambda unfused: shown, settings, clock)
    journal.begin(START)
    history.begin(START)
    replicas, step = 2, 0
    for batch in range(batches):
        now_s = begin_s + PERIOD_S * (batch + 1)
        made = seen(batch, replicas, 700.0 if batch % 20 == 19 else 200.0, begin_s)
        journal.write_all([(made, configured(replicas))])
        history.batches([(made, configured(replicas))])
        if batch % 2:
            step += 1
            wanted = (3 if replicas == 2 else 2) if step % 10 == 0 else replicas
            decision = decided(step, replicas, wanted, broken=batch % 20 == 19)
            journal.decide(batch, decision)
            history.decided(batch, decision)
            replicas = wanted
    history.letters(3, [{"operator": "trades", "reason": f"raised {MARKUP}", "row": f'{{"a": "{MARKUP}"}}'}])
    history.event("checkpoint_bytes", {"bytes": 12345})
    if end is not None:
        history.end(end)
    return path


def lease(folder: Path, pid: int | None = None) -> None:
    """The lease of a driver: this process, where none is given."""
    (folder / "lease").write_text(f"1 {os.getpid() if pid is None else pid} {socket.gethostname()} abc\n")
