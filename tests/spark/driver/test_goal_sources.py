"""A goal on sources without a schedule: what waits is measured where it can be, and told to be unknown where not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.control.journal.journal import read_journal
from penstock.control.journal.recorded_decision import RecordedDecision, judged_decisions
from penstock.control.live.controller import NOT_MEASURED
from penstock.control.live.micro_batch_plant import SparkPlant
from penstock.control.setting import DEFAULT_CAP_TUPLES
from penstock.spark.driver.handle import Handle

LINES = 40


def put(folder: Path, number: int) -> None:
    """A file that is whole when it is seen."""
    draft = folder / f".{number}"
    draft.write_text("n\n" + "".join(f"{n}\n" for n in range(LINES)))
    draft.replace(folder / f"{number:06d}.csv")


@contextmanager
def growing(folder: Path, files_s: float) -> Iterator[None]:
    """So many files more in a second."""
    ended = threading.Event()

    def grow() -> None:
        number = 0
        while not ended.wait(1 / files_s):
            put(folder, number)
            number += 1

    thread = threading.Thread(target=grow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def until(handle: Handle, is_so: Callable[[list[RecordedDecision]], bool], patience_s: float = 200.0) -> None:
    """Waits for what the decisions so far are to show."""
    deadline_s = time.monotonic() + patience_s
    assert handle.controller is not None
    while not is_so(list(handle.controller.decisions)):
        assert time.monotonic() < deadline_s, list(handle.controller.decisions)[-3:]
        assert handle.controller.failure is None
        handle.wait(0.2)


def test_a_directory_that_grows_too_fast_breaks_the_goal(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    app = ps.Application("files")
    lines = app.source("lines", ps.sources.csv(tmp_path / "in", files_per_batch=1), {"n": "int64"})
    lines.load("ask", wait_ms_per_tuple=10.0).sink("out", ps.sinks.discard())
    handle = ps.start(
        app, session=session, checkpoint=tmp_path / "c", goal=ps.latency(p95_ms=100), limits=ps.Limits(max_replicas=1)
    )
    try:
        with growing(tmp_path / "in", files_s=10.0):  # 0.4 s of work each
            until(handle, lambda decisions: sum(own.broken for own in decisions) >= 2)
    finally:
        seen = handle.stop().observations
    files_s = [own.latency.p95_ms / 1000 for own in seen if own.latency is not None]
    assert {own.latency_from for own in seen if own.tuples_in} == {"file"}
    assert files_s[-1] > files_s[0] > 0.4  # what comes last has waited longest
    decisions = [own.decision for own in judged_decisions(read_journal(tmp_path / "c" / "journal.jsonl"))]
    assert all(own.measured for own in decisions if own.seen.served_tuples_s > 0)
    assert max(own.seen.backlog_tuples for own in decisions) > 2 * LINES


def test_a_silent_stream_makes_control_steps(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = SparkPlant.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "idle_s", 0.5)
    (tmp_path / "in").mkdir()
    app = ps.Application("silent")
    app.source("lines", ps.sources.csv(tmp_path / "in"), {"n": "int64"}).sink("out", ps.sinks.discard())
    handle = ps.start(app, session=session, checkpoint=tmp_path / "c", goal=ps.throughput())
    try:
        until(handle, lambda decisions: len(decisions) >= 2)
        assert handle.controller is not None
        assert {own.seen.rate_tuples_s for own in handle.controller.decisions} == {0.0}
    finally:
        handle.stop()


def test_of_a_users_dataframe_it_is_told_that_the_goal_is_not_measured(
    session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    frame = session.readStream.schema("n long").option("header", True).csv(str(tmp_path / "in"))
    app = ps.Application("foreign")
    app.source("lines", ps.sources.dataframe(frame)).sink("out", ps.sinks.discard())
    handle = ps.start(app, checkpoint=tmp_path / "c", goal=ps.throughput())
    try:
        with growing(tmp_path / "in", files_s=4.0):
            until(handle, lambda decisions: len(decisions) >= 2)
    finally:
        seen = handle.stop().observations
    some = [own for own in seen if own.tuples_out]
    assert {(own.latency_from, own.latency_excludes_waiting) for own in some} == {("intake", True)}
    assert all(own.latency is not None and own.latency.p95_ms <= own.micro_batch_s * 1020 for own in some)
    assert capsys.readouterr().out.count(NOT_MEASURED) == 1
    decisions = [own.decision for own in judged_decisions(read_journal(tmp_path / "c" / "journal.jsonl"))]
    assert not any(own.measured or own.broken for own in decisions)


def test_the_cap_that_control_began_with_is_not_that_of_a_later_start_without_a_goal(
    session: SparkSession, tmp_path: Path
) -> None:
    app = ps.Application("capped")
    app.source("trades", ps.sources.trace(rate_tuples_s=1_000.0)).sink("out", ps.sinks.discard())
    caps = []
    for goal in (ps.throughput(), None):
        handle = ps.start(app, session=session, checkpoint=tmp_path / "c", goal=goal)
        caps.append(handle.configuration.micro_batch_tuples)
        while handle.observe() is None:
            handle.wait(0.1)
        handle.stop()
    assert caps[0] < caps[1] == DEFAULT_CAP_TUPLES
