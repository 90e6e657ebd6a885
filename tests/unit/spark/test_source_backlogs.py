"""What waits at sources without a schedule is counted where it can be; where not, nobody says that it is nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.connectors.arriving.kafka_backlog import TopicWaiting
from penstock.connectors.files.backlog import FilesWaiting
from penstock.connectors.files.file_log import FileLog, LoggedFile
from penstock.control.goals.goal import Goal
from penstock.control.goals.goal_check import breaks, is_measured
from penstock.control.loop.observed_steps import ObservedBatch, control_steps
from penstock.measure.observation import (
    ArrivalObservation,
    BatchTimes,
    Observation,
    PortObservation,
    ReplicaObservation,
)
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.spark.driver.source_backlogs import SourceBacklogs
from penstock.state.checkpoint.checkpoint import Checkpoint, Fixed

BEGIN_S = 1_000.0


def spark_took(folder: Path, batch: int, *offsets: Any) -> None:
    """What Spark writes down of a batch, before it runs."""
    log = folder / "spark" / "offsets"
    log.mkdir(parents=True, exist_ok=True)
    lines = ["v1", "{}", *("-" if own is None else json.dumps(own) for own in offsets)]
    (log / str(batch)).write_text("\n".join(lines))


def taken(batch: int, period_s: float = 1.0, **tuples: int) -> Observation:
    """A micro-batch of so many tuples by source, as it is before sources without a schedule have told."""
    ports = tuple(PortObservation(name, own, 0) for name, own in tuples.items())
    total, end_s = sum(tuples.values()), BEGIN_S + (batch + 1) * period_s
    replica = ReplicaObservation(0, total, total, 0.5 * period_s, 0.1, 0, inputs=ports)
    return Observation(
        batch, end_s - period_s, period_s, total, total, {"first": (replica,)}, committed_at_s=end_s,
        arrivals=ArrivalObservation(total, period_s, assumed=True), times=BatchTimes(0.0, period_s, 0.0, 0.0),
    )  # fmt: skip


def verdicts(goal: Goal, seen: list[Observation]) -> list[str]:
    """Of each step: the goal was broken, kept, or that was not measured."""
    batches = [ObservedBatch(own, Configuration((ElementConfiguration("first", 1),))) for own in seen]
    steps = list(control_steps(batches))
    return ["broken" if breaks(goal, s) else "kept" if is_measured(goal, s) else "not measured" for s in steps]


class Growing:
    """A directory of files with ten lines each, some of which Spark takes in each batch."""

    def __init__(self, folder: Path) -> None:
        self.inbox, self.folder, self.took, self.batches = folder / "in", folder / "c", 0, 0
        self.inbox.mkdir()
        app = ps.Application("files")
        app.source("lines", ps.sources.csv(self.inbox), {"n": "int64"}).sink("out")
        self.log = FileLog(self.folder / "files" / "lines")
        self.backlogs = SourceBacklogs(Fixed("id", app.graph, 8, BEGIN_S), Checkpoint(self.folder))

    def batch(self, arrive: int, take: int) -> Observation:
        """Files are taken; others arrive while they are worked on."""
        self.took += take
        self.log.add([LoggedFile(str(file), 7, 10, 0.0) for file in sorted(self.inbox.iterdir())[: self.took]])
        spark_took(self.folder, self.batches, {"#beat": 0, "lines": {"files": self.took}})
        there = len(list(self.inbox.iterdir()))
        for number in range(there, there + arrive):
            (self.inbox / f"{number:06d}.csv").touch()
        seen = self.backlogs.completed(taken(self.batches, lines=10 * take))
        self.batches += 1
        return seen


@pytest.fixture(autouse=True)
def listed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.connectors.files.backlog._LIST_EVERY_S", 0.0)
    monkeypatch.setattr("penstock.connectors.files.backlog._SHARE", 1e9)


def test_files_that_are_there_and_were_not_taken_are_the_backlog(tmp_path: Path) -> None:
    growing = Growing(tmp_path)
    first = growing.batch(arrive=4, take=0)
    assert first.backlog_tuples is None  # how many tuples a file has is not known yet
    second = growing.batch(arrive=3, take=2)
    assert second.backlog_tuples == 50
    third = growing.batch(arrive=1, take=2)
    assert (third.backlog_tuples, third.arrivals) == (40, ArrivalObservation(10, 1.0))
    fourth = growing.batch(arrive=0, take=4)
    assert (fourth.backlog_tuples, fourth.arrivals) == (0, ArrivalObservation(0, 1.0))


def test_files_that_were_taken_and_deleted_hide_none_that_wait(tmp_path: Path) -> None:
    growing = Growing(tmp_path)
    growing.batch(arrive=4, take=0)
    growing.batch(arrive=0, take=2)
    for path in sorted(growing.inbox.iterdir())[:2]:
        path.unlink()
    (growing.inbox / "late.csv").touch()
    assert growing.batch(arrive=0, take=0).backlog_tuples == 30


def test_a_directory_that_grows_faster_than_it_is_read_breaks_a_throughput_goal(tmp_path: Path) -> None:
    growing = Growing(tmp_path)
    seen = [growing.batch(arrive=10, take=0), *(growing.batch(arrive=10, take=5) for _ in range(6))]
    assert verdicts(ps.throughput(), seen)[2:] == ["broken"] * 5


def test_a_directory_that_is_read_as_it_grows_keeps_a_throughput_goal(tmp_path: Path) -> None:
    growing = Growing(tmp_path)
    seen = [growing.batch(arrive=5, take=0), *(growing.batch(arrive=5, take=5) for _ in range(6))]
    assert verdicts(ps.throughput(), seen)[2:] == ["kept"] * 5


def test_a_large_directory_is_listed_less_often_and_taken_to_grow_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.connectors.files.backlog._SHARE", 0.01)
    inbox, log = tmp_path / "in", FileLog(tmp_path / "log")
    inbox.mkdir()
    moment_s, cpu_s = [0.0], iter([0.0, 2.0, 2.0, 4.0, 4.0, 6.0])  # a list takes two seconds
    waiting = FilesWaiting(inbox, tmp_path / "log", lambda: moment_s[0], lambda: next(cpu_s))
    (inbox / "0.csv").touch()
    log.add([LoggedFile(str(inbox / "0.csv"), 7, 10, 0.0)])
    assert waiting.waiting(1, 0) == 0
    for number in range(1, 41):
        (inbox / f"{number}.csv").touch()
    found = []
    for moment_s[0] in (100.0, 200.0, 210.0, 300.0, 400.0):
        found.append(waiting.waiting(1, 0))
    assert found == [0, 400, 420, 600, 400]


def test_of_sparks_rate_the_schedule_says_what_waits(tmp_path: Path) -> None:
    app = ps.Application("rated")
    app.source("ticks", ps.sources.rate(100)).sink("out")
    created = tmp_path / "spark" / "sources" / "1" / "0"
    created.parent.mkdir(parents=True)
    created.write_text(f"v1\n{int(BEGIN_S * 1000)}")
    backlogs = SourceBacklogs(Fixed("id", app.graph, 8, BEGIN_S), Checkpoint(tmp_path))
    seen = []
    for batch, (before, end) in enumerate([(0, 1), (1, 2), (2, 3), (3, 3), (3, 3), (3, 4)]):
        spark_took(tmp_path, batch, {"#beat": 0}, end)
        seen.append(backlogs.completed(taken(batch, ticks=100 * (end - before))))
    assert [own.backlog_tuples for own in seen] == [0, 0, 0, 100, 200, 200]
    assert [own.arrivals.tuples for own in seen if own.arrivals is not None] == [100] * 6
    assert verdicts(ps.throughput(), seen) == ["not measured", "kept", "kept", "kept", "broken", "kept"]


def test_of_a_file_that_is_there_from_the_beginning_the_rest_waits_and_nothing_arrives(tmp_path: Path) -> None:
    app = ps.Application("unbounded")
    app.source("trades", ps.sources.trace("unbounded", total=1000)).sink("out")
    backlogs = SourceBacklogs(Fixed("id", app.graph, 8, BEGIN_S), Checkpoint(tmp_path))
    seen = []
    for batch in range(3):
        spark_took(tmp_path, batch, {"trades": 100 * (batch + 1), "#beat": 0})
        seen.append(backlogs.completed(taken(batch, trades=100)))
    assert [own.backlog_tuples for own in seen] == [900, 800, 700]
    assert verdicts(ps.throughput(), seen) == ["not measured"] * 3


def progress(second: float, latest: dict[str, int], description: str = "KafkaV2[Subscribe[trades]]") -> dict[str, Any]:
    """What Spark reports of a trigger, as far as it is read."""
    return {
        "timestamp": f"1970-01-01T00:{int(second // 60):02d}:{second % 60:06.3f}Z",
        "sources": [{"description": "ours"}, {"description": description, "latestOffset": {"trades": latest}}],
    }


def test_of_a_topic_what_is_there_and_comes_at_the_last_rate_waits() -> None:
    topic = TopicWaiting()
    ends = [{"trades": {"0": 100 * n, "1": 50 * n}} for n in range(4)]
    topic.tell(progress(10.0, {"0": 300, "1": 150}), 1)
    assert topic.waiting(ends[0], ends[1], 75, 11.0) is None  # at what rate tuples come is not known
    topic.tell(progress(11.0, {"0": 500, "1": 250}), 1)  # 300 in a second
    assert topic.waiting(ends[1], ends[2], 75, 12.0) == pytest.approx((750 + 300 - 300) / 2)  # half are left out
    topic.tell(progress(11.0, {"0": 500, "1": 250}), 1)  # the same trigger again
    assert topic.waiting(ends[2], ends[3], 75, 13.0) == pytest.approx((750 + 600 - 450) / 2)


def test_a_stream_that_tells_nothing_is_asked_once() -> None:
    other = TopicWaiting()
    other.tell(progress(10.0, {"0": 300}, "FileStreamSource[in]"), 1)
    assert not other.may_tell
    assert other.waiting({"logOffset": 0}, {"logOffset": 1}, 50, 11.0) is None


def test_a_goal_on_a_stream_that_tells_nothing_is_not_measured(tmp_path: Path) -> None:
    app = ps.Application("foreign")
    app.source("rows", ps.sources.rate(1)).sink("out")
    backlogs = SourceBacklogs(Fixed("id", app.graph, 8, BEGIN_S), Checkpoint(tmp_path))
    seen = []
    for batch in range(3):
        spark_took(tmp_path, batch, {"#beat": 0}, batch, batch)  # a DataFrame of two streams
        seen.append(backlogs.completed(taken(batch, rows=100)))
    assert [own.backlog_tuples for own in seen] == [None] * 3
    assert verdicts(ps.throughput(), seen) == ["not measured"] * 3
    assert verdicts(ps.latency(p95_ms=1), seen) == ["not measured"] * 3


def test_what_waits_over_the_rate_at_which_it_is_taken_is_how_long_tuples_wait(tmp_path: Path) -> None:
    app = ps.Application("rows")
    app.source("ticks", ps.sources.rate(100)).sink("out")
    backlogs = SourceBacklogs(Fixed("id", app.graph, 8, BEGIN_S), Checkpoint(tmp_path))
    spark_took(tmp_path, 0, {"#beat": 0}, 1)
    assert backlogs.waits_s(backlogs.completed(taken(0, ticks=100))) == {"ticks": None}  # Spark has not said since when
    began = tmp_path / "spark" / "sources" / "1" / "0"
    began.parent.mkdir(parents=True)
    began.write_text(f"v1\n{int(BEGIN_S * 1000)}")
    spark_took(tmp_path, 1, {"#beat": 0}, 2)
    seen = backlogs.completed(taken(1, ticks=100))
    assert seen.arrivals is not None
    waits_s = backlogs.waits_s(seen)["ticks"]
    assert waits_s == pytest.approx((seen.backlog_tuples or 0) * seen.arrivals.period_s / 100)


def test_tuples_that_are_there_from_the_beginning_wait_for_nobody(tmp_path: Path) -> None:
    app = ps.Application("unbounded")
    app.source("trades", ps.sources.trace("unbounded", total=1000)).sink("out")
    backlogs = SourceBacklogs(Fixed("id", app.graph, 8, BEGIN_S), Checkpoint(tmp_path))
    spark_took(tmp_path, 0, {"trades": 100, "#beat": 0})
    assert backlogs.waits_s(backlogs.completed(taken(0, trades=100))) == {"trades": 0.0}
