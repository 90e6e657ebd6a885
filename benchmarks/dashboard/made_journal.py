"""A run that was made up: its journal is written as a driver writes it, as fast as one likes."""

from __future__ import annotations

from pathlib import Path

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

_BEGIN_S = 1_700_000_000.0
_STEP_S, _CHANGE_S = 10.0, 60.0
_ELEMENTS = ("trades", "window")


class MadeJournal:
    """Micro-batches of some seconds each, a control step every 10 s, a change of replicas every minute."""

    def __init__(self, folder: Path, period_s: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self._period_s = folder / "journal.jsonl", period_s
        self._now_s, self._batch, self._replicas = _BEGIN_S, 0, 2
        graph = _graph()
        self._journal = Journal(self.path, "made up", part_bytes=DEFAULT_JOURNAL.part_bytes, graph=graph)
        self._history = History(self.path, lambda fused: graph, clock=lambda: self._now_s)
        start = RunStart(1.0, latency(p95_ms=500), Limits(max_replicas=4), "mpc", Price(0.05), cores=4, at_s=_BEGIN_S)
        self._journal.begin(start)
        self._history.begin(start)

    @property
    def seconds(self) -> float:
        """How long the run is so far."""
        return self._now_s - _BEGIN_S

    def write(self, *, with_lines: bool = True) -> None:
        """The next micro-batch; `with_lines`: also its line in the journal, which has no room for all of a week."""
        before_s, batch = self.seconds, self._batch
        self._now_s, self._batch = self._now_s + self._period_s, batch + 1
        made = _seen(batch, self._replicas, self._now_s, self._period_s), _configured(self._replicas)
        self._history.batches([made])
        if with_lines:
            self._journal.write_all([made])
        step = int(before_s // _STEP_S)
        if int(self.seconds // _STEP_S) == step:
            return
        wanted = 5 - self._replicas if before_s // _CHANGE_S != self.seconds // _CHANGE_S else self._replicas
        decision = _decided(step, self._replicas, wanted)
        if with_lines:
            self._journal.decide(batch, decision)
        self._history.decided(batch, decision)
        self._replicas = wanted

    def end(self) -> None:
        self._history.end("stopped")


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


def _seen(batch: int, replicas: int, at_s: float, period_s: float) -> Observation:
    p95_ms = 150.0 + batch % 97
    own = {name: tuple(_replica(i, name) for i in range(replicas)) for name in _ELEMENTS}
    return Observation(
        batch,
        at_s - period_s,
        period_s,
        4000,
        900,
        own,
        Latency(p95_ms / 2, p95_ms, p95_ms * 1.5, p95_ms * 2, p95_ms * 0.6),
        batch % 40,
        0,
        at_s,
        0.1,
        ArrivalObservation(4000, period_s),
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
