"""`stop` ends within its patience, whatever a sink does, and nothing counts twice."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.errors import StateError, StopTimeoutError


class SlowSink:
    """Keeps what it is given by batch, and does not come back from the second batch until it may."""

    def __init__(self) -> None:
        self.rows: dict[int, list[int]] = {}
        self.calls: list[int] = []
        self.is_stuck, self.may_go = threading.Event(), threading.Event()

    def __call__(self, table: pa.Table, batch: int) -> None:
        self.calls.append(batch)
        self.rows[batch] = table.column("seq").to_pylist()
        if len(self.calls) == 2:
            self.is_stuck.set()
            assert self.may_go.wait(120)


def application(sink: SlowSink) -> ps.Application:
    app = ps.Application("slow")
    trades = app.source("trades", ps.sources.trace("unbounded", total=5000))
    trades.sink("out", ps.sinks.callback(sink))
    return app


def test_stop_does_not_wait_for_a_sink_that_does_not_come_back(session: SparkSession, tmp_path: Path) -> None:
    sink = SlowSink()
    app = application(sink)
    configuration = replace(ps.Configuration.of(app), micro_batch_tuples=1000)
    handle = ps.start(app, session=session, checkpoint=tmp_path / "c", configuration=configuration)
    assert sink.is_stuck.wait(120)
    began_s = time.monotonic()
    with pytest.raises(StopTimeoutError, match="did not stop within 1 s: sink 'out' is still at work on its batch; "):
        handle.stop(patience_s=1)
    took_s = time.monotonic() - began_s
    with pytest.raises(StateError, match="in use by process"):  # two drivers would deliver the batch side by side
        ps.start(app, session=session, checkpoint=tmp_path / "c")
    sink.may_go.set()
    handle.stop()
    assert took_s < 10
    done = list(sink.calls)
    ps.run(app, session=session, checkpoint=tmp_path / "c", duration_s=120)
    assert sink.calls == [*done, *range(done[-1], done[-1] + len(sink.calls) - len(done))], "the batch came once more"
    assert [row for batch in sorted(sink.rows) for row in sink.rows[batch]] == list(range(5000))


def test_a_sink_that_comes_back_later_frees_the_checkpoint_by_itself(session: SparkSession, tmp_path: Path) -> None:
    sink = SlowSink()
    app = application(sink)
    configuration = replace(ps.Configuration.of(app), micro_batch_tuples=1000)
    handle = ps.start(app, session=session, checkpoint=tmp_path / "c", configuration=configuration)
    assert sink.is_stuck.wait(120)
    with pytest.raises(StopTimeoutError):
        handle.stop(patience_s=0)
    sink.may_go.set()
    deadline = time.monotonic() + 60
    while True:
        try:
            ps.run(app, session=session, checkpoint=tmp_path / "c", duration_s=120)
            break
        except StateError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert [row for batch in sorted(sink.rows) for row in sink.rows[batch]] == list(range(5000))


def with_no_log_of_offsets(session: SparkSession, folder: Path) -> ps.Handle:
    """A run whose Spark cannot log the offsets of its next micro-batch, as on a full disk."""
    app = ps.Application("ticks")
    app.source("ticks", ps.sources.trace("constant", 1000.0)).sink("out", ps.sinks.discard())
    handle = ps.start(app, session=session, checkpoint=folder)
    while handle.observe() is None:
        handle.wait(timeout_s=0.05)
    offsets = folder / "spark" / "offsets"
    offsets.rename(folder / "gone")
    offsets.write_text("in the way of the folder")
    while handle._query.isActive:
        time.sleep(0.05)
    return handle


@pytest.mark.parametrize("waits", [True, False])
def test_what_spark_itself_meets_is_told_once(
    session: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, waits: bool
) -> None:
    handle = with_no_log_of_offsets(session, tmp_path / "c")
    if waits:
        with pytest.raises(ps.errors.PenstockError):
            handle.wait()
    handle._observer._failure = OSError(28, "No space left on device")  # the journal meets the same disk
    if waits:
        handle.stop()
    else:
        with pytest.raises(ps.errors.PenstockError):
            handle.stop()
    assert "the journal has not got" not in caplog.text
