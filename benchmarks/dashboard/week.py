"""A week of a run's journal, written as a driver writes it, and how long the dashboard takes to open it."""

from __future__ import annotations

import statistics
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dashboard.dashboard import cpu_s
from benchmarks.machine import this_machine
from benchmarks.report import Show, finish, measured, table_of, wide_console
from penstock.control.decision import Alternative, Expectation
from penstock.control.goals.goal import Price, latency
from penstock.control.goals.limits import Limits
from penstock.control.journal.display_graph import DisplayElement, DisplayGraph, DisplayOperator
from penstock.control.journal.history import DEFAULT_JOURNAL, History
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
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route
from penstock.watch.dashboard_process import start_dashboard

WEEK_S = 7 * 86_400.0
MOST_S = 3.0
_BEGIN_S = 1_700_000_000.0
_PERIOD_S = 5.0  # of micro-batches: the files of seconds are full all the same
_DECIDES_EVERY, _CHANGES_EVERY = 2, 12  # micro-batches
_IN_JOURNAL_S = 4 * 3600.0  # lines of micro-batches: the dashboard reads the newest 4 MB of them
_ELEMENTS = ("trades", "window")
_REQUESTS = ("api/run", "api/series?points=600", "api/decisions", "api/dead-letters")


@dataclass(frozen=True, slots=True)
class Effort:
    """A run of so many seconds, whose journal is opened some times."""

    span_s: float = WEEK_S
    times: int = 5


def run_week(*, quick: bool, json_file: Path | None, folder: Path | None) -> None:
    """Prints how long it takes to open the journal, and ends with one JSON object."""
    effort = Effort(86_400.0, 3) if quick else Effort()
    opened, megabytes = measured(_measure, effort, folder)
    opened_s, cpu = zip(*opened, strict=True)
    body = {
        "week_open_s": round(statistics.median(opened_s), 3), "slowest_s": round(max(opened_s), 3),
        "week_open_cpu_s": round(statistics.median(cpu), 3),
        "journal_mb": round(megabytes, 1), "days": effort.span_s / 86_400, "times": effort.times,
    }  # fmt: skip
    table = table_of("the dashboard of a run that ended, from the start of its process", "figure", "found", "bound")
    table.add_row(f"opened, {body['days']:g} days of journal (s)", f"{body['week_open_s']}", f"at most {MOST_S:g}")
    table.add_row("CPU of its process until then (s)", f"{body['week_open_cpu_s']}", "")
    wide_console(100).print(table)
    finish(body, this_machine(), json_file)


def _measure(effort: Effort, folder: Path, show: Show) -> tuple[list[tuple[float, float]], float]:
    show("writing the journal")
    checkpoint = write_week(folder / "week", effort.span_s).parent
    show("opening it")
    size = sum(path.stat().st_size for path in checkpoint.iterdir())
    return [opened_s(checkpoint) for _ in range(effort.times)], size / 1e6


def write_week(folder: Path, span_s: float = WEEK_S) -> Path:
    """The journal of a run that ended after so long: a control step every 10 s, a change of replicas every minute."""
    folder.mkdir(parents=True, exist_ok=True)
    path, now_s = folder / "journal.jsonl", _BEGIN_S
    graph = _graph()
    journal = Journal(path, "a week", part_bytes=DEFAULT_JOURNAL.part_bytes, graph=graph)
    history = History(path, lambda fused: graph, clock=lambda: now_s)
    start = RunStart(1.0, latency(p95_ms=500), Limits(max_replicas=4), "mpc", Price(0.05), cores=4, at_s=_BEGIN_S)
    journal.begin(start)
    history.begin(start)
    batches, replicas = int(span_s / _PERIOD_S), 2
    for batch in range(batches):
        now_s = _BEGIN_S + _PERIOD_S * (batch + 1)
        made = _seen(batch, replicas, now_s), _configured(replicas)
        history.batches([made])
        if (batches - batch) * _PERIOD_S <= _IN_JOURNAL_S:
            journal.write_all([made])
        if batch % _DECIDES_EVERY == 0:
            wanted = 5 - replicas if batch % _CHANGES_EVERY == 0 else replicas
            decision = _decided(batch // _DECIDES_EVERY, replicas, wanted)
            history.decided(batch, decision)
            replicas = wanted
    history.end("stopped")
    return path


def opened_s(checkpoint: Path) -> tuple[float, float]:
    """From the start of the dashboard's process until all that the page asks for is answered, and its CPU till then."""
    begin_s = time.monotonic()
    page = start_dashboard(checkpoint)
    try:
        for path in _REQUESTS:
            with urllib.request.urlopen(f"{page.url}{path}", timeout=60) as answer:
                answer.read()
        return time.monotonic() - begin_s, cpu_s(page)
    finally:
        page.close()


def _graph() -> DisplayGraph:
    operators = (
        DisplayOperator("quotes", "source", (), "trades"),
        DisplayOperator("trades", "functor", ("quotes",), "trades"),
        DisplayOperator("window", "aggregate", ("trades",), "window"),
        DisplayOperator("out", "sink", ("window",), "window"),
    )
    return DisplayGraph(operators, (DisplayElement("trades"), DisplayElement("window", "key")))


def _configured(replicas: int) -> Configuration:
    route = even_route(replicas, 512)
    return Configuration((ElementConfiguration("trades", replicas), ElementConfiguration("window", replicas, route)))


def _seen(batch: int, replicas: int, at_s: float) -> Observation:
    p95_ms = 150.0 + batch % 97
    own = {name: tuple(_replica(i, name) for i in range(replicas)) for name in _ELEMENTS}
    return Observation(
        batch,
        at_s - _PERIOD_S,
        _PERIOD_S,
        4000,
        900,
        own,
        Latency(p95_ms / 2, p95_ms, p95_ms * 1.5, p95_ms * 2, p95_ms * 0.6),
        batch % 40,
        0,
        at_s,
        0.1,
        ArrivalObservation(4000, _PERIOD_S),
        BatchTimes(0.01, 1.5, 0.02, 0.05),
        CpuObservation(1.3, 0.1, 0, 0.02, 0.2, 0),
    )


def _replica(number: int, operator: str) -> ReplicaObservation:
    operators = (OperatorObservation(operator, 2000, 450, 4, 1, 0.05, 1000),)
    return ReplicaObservation(number, 2000, 450, 0.9, 0.7, 0, operators=operators)


def _decided(step: int, before: int, after: int) -> RecordedDecision:
    return RecordedDecision(
        step,
        "mpc",
        Setting(before),
        Setting(after),
        Setting(after),
        f"demand up to {step} tuples/s within 10 steps",
        StepFigures(2000.0, 1990.0, 40.0, 0.7, 0.12, 0.2, watts_estimated=20.0),
        Expectation(2010.0, 5000.0, 0.11, 30.0),
        requested=before != after,
        alternatives=(Alternative(Setting(after + 1), 1.25),),
        highest_useful_replicas=4,
    )
