"""A latency goal on a stream whose rate triples and falls back, from a topic or from files in a directory.

Or on one whose rate stays, and that nobody reads for a while: what waits then is no load to be prepared for.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.report import Show
from benchmarks.spark.kafka.kafka import broker
from benchmarks.spark.kafka.topics import message_values, new_topic, producer, send, trades
from penstock import sinks, sources
from penstock.app.application import Application
from penstock.app.windows import sliding
from penstock.cli.demo.check import Counted
from penstock.cli.demo.report import Outcome
from penstock.connectors.kinds import SourceConnector
from penstock.control.goals.goal import latency
from penstock.control.goals.limits import Limits
from penstock.control.journal.journal import read_journal
from penstock.control.journal.recorded_decision import judged_decisions
from penstock.kernels.keys.row_checksum import add_checksums
from penstock.measure.observation import Observation, latency_over
from penstock.plan.configuration import Configuration
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import start
from penstock.testing import local_session

FEEDS = ("kafka", "files", "outage")
SCHEMA = {"seq": "int64", "ticker": "symbol", "ttype": "symbol", "price": "float64", "volume": "float64"}
_WAIT_MS = 5.0  # of a service that each result asks
RISES, FALLS = 0.3, 0.7  # when the rate triples, and when it falls back: parts of the time
_DROP_S = 0.1  # between two files
_DRAIN_S = 60.0
_WARM_TUPLES, _WARM_BATCHES = 2_400, 12

Feed = Callable[[pa.Table], None]


@dataclass(frozen=True, slots=True)
class GoalEffort:
    """Tuples a second at first, three times as many in the middle: then some six replicas do nothing but wait.

    With a micro-batch of 0.25 s beside what a service takes, eight replicas keep 1 s up to some 400 results a second.
    """

    rate_tuples_s: float = 100.0
    seconds: float = 180.0
    goal_p95_ms: float = 1000.0
    most_replicas: int = 8
    keys: int = 400
    feed: str = "kafka"

    @property
    def is_outage(self) -> bool:
        return self.feed == "outage"

    @property
    def stays_s(self) -> tuple[tuple[float, float], ...]:
        """When somebody reads: all the time, or for three tenths of it and again after four tenths more."""
        return ((0.0, RISES * self.seconds), (FALLS * self.seconds, np.inf)) if self.is_outage else ((0.0, np.inf),)

    def sent_by(self, elapsed_s: float) -> int:
        """Tuples that are due at a moment."""
        if self.is_outage:
            return int(self.rate_tuples_s * min(elapsed_s, 1.5 * self.seconds))
        rises_s, falls_s = RISES * self.seconds, FALLS * self.seconds
        tripled_s = max(min(elapsed_s, falls_s) - rises_s, 0.0)
        return int(self.rate_tuples_s * (min(elapsed_s, self.seconds) + 2 * tripled_s))


@dataclass(frozen=True, slots=True)
class GoalResult:
    """The run, and what is left of its tuples to account for."""

    outcome: Outcome
    sent: int
    latency_from: tuple[str, ...]
    effort: GoalEffort

    def phase(self, begin: float, end: float) -> list[Observation]:
        """Micro-batches of a part of the time."""
        first_s, seconds = self.outcome.began_at_s, self.effort.seconds
        own = self.outcome.observations
        return [one for one in own if begin * seconds <= one.started_at_s - first_s < end * seconds]

    def phase_p95_ms(self, begin: float, end: float) -> float | None:
        found = latency_over(self.phase(begin, end))
        return None if found is None else round(found.p95_ms, 1)

    def phase_replicas(self, begin: float, end: float) -> float | None:
        """The replicas that asked the service, on average over the micro-batches with tuples."""
        counts = [len(one.replicas_by_element.get("windows", ())) for one in self.phase(begin, end) if one.tuples_in]
        return round(fmean(counts), 2) if counts else None


def run_goal(effort: GoalEffort, folder: Path, show: Show) -> GoalResult:
    """Warms up with a run of its own, then feeds the stream while control keeps the goal."""
    table = trades(effort.sent_by(2 * effort.seconds), effort.keys)
    with ExitStack() as stack:
        servers = stack.enter_context(broker(show)).servers if effort.feed != "files" else ""
        session = stack.enter_context(local_session(task_slots=2 * effort.most_replicas))
        show("warming up")
        source, feed = _feed(effort, servers, folder / "warm")
        feed(table.slice(0, _WARM_TUPLES))
        _warmed_up(source, effort, session, folder / "warm-checkpoint")
        source, feed = _feed(effort, servers, folder / "in")
        return _streamed(
            source, effort, session, folder / "checkpoint", lambda: _paced(effort, table, feed), table.num_rows, show
        )


def application(source: SourceConnector) -> Application:
    """The last four quotes of each ticker; each result waits for a service, so that replicas are of use."""
    app = Application("quotes_with_service")
    quotes = app.source("quotes", source, schema=SCHEMA)
    windows = quotes.aggregate(
        "windows", by="ticker", window=sliding(count=4, every=1, per_group=True),
        emit={"ticker": "any(ticker)", "seq": "last(seq)", "mean": "avg(price)"},
    )  # fmt: skip
    windows.load("service", wait_ms_per_tuple=_WAIT_MS).sink("out", sinks.discard())
    return app


def _warmed_up(source: SourceConnector, effort: GoalEffort, session: Any, checkpoint: Path) -> None:
    """The same application over a few tuples, as the demonstration does: batches of as many replicas as there may be.

    The JVM's compiler gets warm, and so does each worker: Spark takes its workers in turn.
    """
    app = application(source)
    configuration = Configuration.of(app, replicas=effort.most_replicas)
    configuration = replace(configuration, micro_batch_tuples=_WARM_TUPLES // _WARM_BATCHES)
    handle = start(app, session=session, checkpoint=checkpoint, configuration=configuration)
    until_s = time.time() + _DRAIN_S
    while sum(own.tuples_out for own in handle.result.observations) < _WARM_TUPLES and time.time() < until_s:
        handle.wait(0.2)
        handle.observe()
    handle.stop()


def _feed(effort: GoalEffort, servers: str, folder: Path) -> tuple[SourceConnector, Feed]:
    """A source, and what brings tuples to it."""
    if effort.feed == "files":
        folder.mkdir(parents=True)
        return sources.csv(folder), _Files(folder).put
    topic = new_topic(servers)

    def put(table: pa.Table) -> None:
        homes, values = table["partition"].to_pylist(), message_values(table.drop_columns("partition"))
        for home, value in zip(homes, values, strict=True):
            send(servers, topic, home, [value])
        producer(servers).poll(0)

    return sources.kafka(servers, topic), put


class _Files:
    """Drops tables into a directory as files that are whole when they are seen."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0

    def put(self, table: pa.Table) -> None:
        if not table.num_rows:
            return
        draft = self._folder / f".{self._number}"
        pyarrow.csv.write_csv(table.drop_columns("partition"), draft)
        shutil.move(draft, self._folder / f"{self._number:06d}.csv")
        self._number += 1


def _paced(effort: GoalEffort, table: pa.Table, feed: Feed) -> None:
    begin_s, sent = time.monotonic(), 0
    while sent < table.num_rows:
        due = min(effort.sent_by(time.monotonic() - begin_s), table.num_rows)
        feed(table.slice(sent, due - sent))
        sent = due
        time.sleep(_DROP_S if effort.feed == "files" else 0.01)


class _Feeder:
    """Brings the tuples, from the moment on at which the stream is open for the first time."""

    def __init__(self, feed: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=feed, daemon=True)
        self.began_s: float | None = None

    def begun_s(self) -> float:
        """When it began, which is now if it had not."""
        if self.began_s is None:
            self.began_s = time.time()
            self._thread.start()
        return self.began_s

    def ended(self) -> float:
        """Waits for its last tuple; gives when it began."""
        self._thread.join()
        return self.begun_s()


def _streamed(
    source: SourceConnector, effort: GoalEffort, session: Any, checkpoint: Path, feed: Callable[[], None], sent: int,
    show: Show,
) -> GoalResult:  # fmt: skip
    feeder, counted = _Feeder(feed), Counted(0, 0)
    for begin_s, end_s in effort.stays_s:
        if feeder.began_s is not None:
            time.sleep(max(feeder.began_s + begin_s - time.time(), 0.0))
        own = _stayed(source, effort, session, checkpoint, feeder, end_s, sent - counted.results, show)
        counted = Counted(counted.results + own.results, add_checksums(counted.checksum, own.checksum))
    began_s = feeder.ended()
    recorded = read_journal(checkpoint / "journal.jsonl")
    rates = "nobody reads for a while" if effort.is_outage else "then three times as many"
    outcome = Outcome(
        f"{effort.feed}: {effort.rate_tuples_s:g} tuples/s, {rates}; goal p95 {effort.goal_p95_ms:g} ms", began_s,
        recorded.observations, tuple(line.configuration for line in recorded.lines),
        tuple(own.decision for own in judged_decisions(recorded)), counted, counted.results >= sent,
        effort.goal_p95_ms,
    )  # fmt: skip
    words = tuple(sorted({own.latency_from or "" for own in outcome.observations if own.tuples_in}))
    return GoalResult(outcome, sent, words, effort)


def _results(handle: Handle) -> int:
    """Results so far, those of micro-batches too that a long run has forgotten."""
    earlier = handle.result.earlier
    return (0 if earlier is None else earlier.tuples_out) + sum(own.tuples_out for own in handle.result.observations)


def _stayed(
    source: SourceConnector, effort: GoalEffort, session: Any, checkpoint: Path, feeder: _Feeder, end_s: float,
    left: int, show: Show,
) -> Counted:  # fmt: skip
    """Reads until a moment of the run, or until all tuples that are left have come; gives the results."""
    handle = start(
        application(source), session=session, checkpoint=checkpoint, goal=latency(p95_ms=effort.goal_p95_ms),
        limits=Limits(max_replicas=effort.most_replicas),
    )  # fmt: skip
    while not (checkpoint / "clock").exists() and not handle.wait(0.02):
        pass  # the stream is not open yet
    until_s = min(feeder.begun_s() + end_s, time.time() + 2 * effort.seconds + _DRAIN_S)
    while (taken := _results(handle)) < left and time.time() < until_s:
        show(f"from {effort.feed}: {taken:,} of {left:,} tuples")
        handle.wait(0.2)
        handle.observe()
    return Counted(*handle.stop().discarded.get("out", (0, 0)))
