"""Observations are made some at a time: none is lost by a kill, and each is as if it had been made at once."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.measuring.driver_measuring import task_reports
from penstock import sinks, sources
from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.control.journal.journal import newest_batch, read_journal
from penstock.control.journal.plain_values import to_plain
from penstock.control.journal.run_start import RunStart
from penstock.measure.batch.batch_figures import Moments
from penstock.measure.batch.batch_notes import read_notes
from penstock.measure.batch.cpu_meter import CpuMeter
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.measure.observation import Observation, ReplicaObservation
from penstock.measure.task.task_report import TaskReport, decode, encode
from penstock.plan.configuration import Configuration, default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.observer import Made, Observer
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.checkpoint import Checkpoint
from tests.reference.observations import replicas

APP = vwap_per_ticker(source=sources.trace("constant", 1e6, seed=7), sink=sinks.discard())
TUPLES = sum(report.replica.tuples_in for report in task_reports(0)["trades"])


class Watched:
    """An observer with a clock that the test holds."""

    def __init__(self, folder: Path) -> None:
        self.now_s, self.seen, self.folder = 1_000.0, list[Observation](), folder
        fixed = Checkpoint(folder).fix(APP.graph, slots=512, now_s=1_000.0, dumps=dumps_for_workers)
        cpu = CpuMeter(lambda: 0.0, lambda: 0.0)
        self.observer = Observer(folder, fixed, self.keep, cpu, clock=lambda: self.now_s)

    def keep(self, seen: Sequence[Observation]) -> None:
        self.seen += seen

    def note(self, batch: int, batch_s: float, replicas: int = 2, *, at_once: bool | None = None) -> list[Made]:
        begin_s, self.now_s = self.now_s, self.now_s + batch_s
        moments = Moments(begin_s, begin_s + 0.1 * batch_s, begin_s + 0.8 * batch_s, self.now_s)
        reports = task_reports(batch * TUPLES)
        encoded = tuple((name, encode(report.plain)) for name, own in reports.items() for report in own)
        measured = MeasuredBatch(batch, moments, encoded, "trades", frozenset({"out"}), TUPLES, dead_letters=batch % 2)
        return self.observer.note(measured, configured(replicas), at_once=at_once)

    @property
    def written(self) -> list[Observation]:
        return list(read_journal(self.folder / "journal.jsonl").observations)


def configured(replicas: int) -> Configuration:
    return default_configuration(pipeline_of(APP.graph), replicas, 512)


def without_cpu(seen: Sequence[Observation]) -> list[object]:
    return [to_plain(replace(o, cpu=None)) for o in seen]


@given(st.lists(st.tuples(st.sampled_from([0.05, 0.3, 0.7, 1.5]), st.integers(1, 3)), min_size=1, max_size=15))
@settings(max_examples=25, deadline=None)
def test_together_they_are_what_they_are_one_at_a_time(
    tmp_path_factory: pytest.TempPathFactory, shapes: list[tuple[float, int]]
) -> None:
    together, alone = (Watched(tmp_path_factory.mktemp("c")) for _ in range(2))
    for batch, (batch_s, wide) in enumerate(shapes):
        together.note(batch, batch_s, wide)
        assert together.now_s - (together.seen[-1].committed_at_s or 0.0) < 1.0
        ((seen, configuration),) = alone.note(batch, batch_s, wide, at_once=True)
        assert seen is alone.seen[-1]
        assert configuration == configured(wide)
    together.observer.make()
    assert without_cpu(together.seen) == without_cpu(alone.seen)
    assert without_cpu(together.written) == without_cpu(alone.written) == without_cpu(alone.seen)
    lines = [read_journal(own.folder / "journal.jsonl").lines for own in (together, alone)]
    assert [line.configuration for line in lines[0]] == [line.configuration for line in lines[1]]
    assert all(o.cpu is not None and o.cpu.measuring_s > 0 for o in together.seen)


def test_what_was_noted_when_the_driver_was_killed_is_written_by_the_next(tmp_path: Path) -> None:
    killed = Watched(tmp_path)
    for batch in range(5):
        killed.note(batch, 0.1, 1 + batch // 3)
    assert [o.batch for o in killed.written] == [0]  # the first at once
    whole = Watched(tmp_path / "other")
    for batch in range(5):
        whole.note(batch, 0.1, 1 + batch // 3, at_once=True)
    with (tmp_path / "journal.notes").open("ab") as file:
        file.write(b"\x80\x05\x95torn")
    again = Watched(tmp_path)
    assert [o.batch for o in again.written] == list(range(5))
    recovered, expected = again.written[4], whole.written[4]
    assert to_plain(recovered.latency) == to_plain(expected.latency)
    assert recovered.replicas_by_element == expected.replicas_by_element
    assert [line.configuration for line in read_journal(tmp_path / "journal.jsonl").lines[1:]] == [
        configured(1 + batch // 3) for batch in range(1, 5)
    ]
    assert read_notes(tmp_path / "journal.notes") == []


def test_a_batch_that_is_in_the_journal_already_is_not_written_again(tmp_path: Path) -> None:
    killed = Watched(tmp_path)
    for batch in range(4):
        killed.note(batch, 0.1)
    notes = (tmp_path / "journal.notes").read_bytes()
    killed.observer.make()
    (tmp_path / "journal.notes").write_bytes(notes)  # killed after the journal was written
    size = (tmp_path / "journal.jsonl").stat().st_size
    again = Watched(tmp_path)
    assert (tmp_path / "journal.jsonl").stat().st_size == size
    assert [o.batch for o in again.written] == list(range(4))
    assert newest_batch(tmp_path / "journal.jsonl") == 3


def test_an_application_without_new_tuples_is_up_to_date_after_a_second(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.note(0, 0.1)
    watched.note(1, 0.1)
    watched.observer.make(idle_s=1.0)
    assert len(watched.seen) == 1
    watched.now_s += 1.0
    watched.observer.make(idle_s=1.0)
    assert len(watched.seen) == len(watched.written) == 2


def test_a_journal_that_cannot_be_written_stops_the_thread_of_the_micro_batches(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.note(0, 0.1)
    watched.note(1, 0.1)

    def full(batches: object) -> None:
        raise OSError(28, "No space left on device")

    watched.observer._journal.write_all = full  # type: ignore[method-assign]
    watched.observer.make()  # by somebody who looks
    with pytest.raises(OSError, match="No space left"):
        watched.note(2, 0.1)
    assert [measured.batch for measured, _ in read_notes(tmp_path / "journal.notes")] == [1]


@given(replicas, st.lists(st.tuples(*[st.integers(-1, 2**40)] * 4), max_size=4), st.lists(st.integers(0, 2**40)))
def test_a_report_comes_as_it_was_sent(
    replica: ReplicaObservation, rows: list[tuple[int, int, int, int]], counts: list[int]
) -> None:
    triggers = np.array(rows, np.int64).reshape(-1, 4)
    sent = TaskReport(replica, {"a": (1, 2)}, triggers, {"w": np.array(counts, np.int64)})
    got = decode(encode(sent.plain))
    assert (got.replica, got.taken) == (sent.replica, sent.taken)
    assert got.triggers.tolist() == triggers.tolist()
    assert got.slot_tuples_by_element["w"].tolist() == counts


def test_a_journal_that_cannot_be_written_at_the_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_given: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    watched = Watched(tmp_path)
    watched.note(0, 0.1)
    watched.note(1, 0.1)
    watched.note(2, 0.1)
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(os, "write", full)
        watched.observer.end()
    assert [record.getMessage() for record in caplog.records] == [
        "the last micro-batches are committed, but missing from the journal: [Errno 28] No space left on device"
    ]
    assert [o.batch for o in Watched(tmp_path).written] == [0, 1, 2]  # by the next start, from what was noted


def test_of_a_run_that_failed_the_journal_tells_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The application's own sentence is the one about the full disk."""

    def full(*_given: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    watched = Watched(tmp_path)
    watched.note(0, 0.1)
    watched.note(1, 0.1)
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(os, "write", full)
        watched.observer.end(is_failed=True)
    assert caplog.records == []


def test_whoever_makes_them_all_are_given_with_the_next_micro_batch(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    given = [watched.note(0, 0.1), watched.note(1, 0.1, 1), watched.note(2, 0.1, 3)]
    watched.observer.make()  # somebody looked
    given += [watched.note(3, 0.1), watched.note(4, 0.1, at_once=True), watched.note(5, 2.0)]
    given += [watched.note(6, 2.0, at_once=False), watched.note(7, 0.1, at_once=True)]
    assert [[seen.batch for seen, _ in made] for made in given] == [[0], [], [], [1, 2], [3, 4], [5], [], [6, 7]]
    assert given[3] == [(watched.seen[1], configured(1)), (watched.seen[2], configured(3))]


def test_a_start_is_noted_behind_what_the_driver_before_left_over(tmp_path: Path) -> None:
    for number, batches in enumerate(((0, 1), (2,)), 1):
        watched = Watched(tmp_path)
        watched.observer.started(RunStart(float(number)))
        for batch in batches:
            watched.note(batch, 0.1, at_once=False)  # noted, and not made: the driver is killed
    Watched(tmp_path)
    run = read_journal(tmp_path / "journal.jsonl")
    assert run.start == RunStart(2.0)
    assert [[line.observation.batch for line in lines] for lines in run.by_start()] == [[0, 1], [2]]
