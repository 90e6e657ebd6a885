"""The clock of traces is set when the stream opens for the first time, and never again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import penstock as ps
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.checkpoint import WARM_UP, Checkpoint, Fixed


def fixed_at(checkpoint: Checkpoint, now_s: float) -> Fixed:
    app = ps.Application("clock")
    app.source("ticks", ps.sources.trace(rate_tuples_s=1000)).sink("out", ps.sinks.discard())
    return checkpoint.fix(app.graph, slots=None, now_s=now_s, dumps=dumps_for_workers)


def test_the_first_opening_sets_it_and_a_restart_goes_by_it(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    fixed = fixed_at(checkpoint, now_s=100.0)
    assert checkpoint.open_clock(fixed, 117.0).started_at_s == 117.0
    assert checkpoint.fixed().started_at_s == 117.0
    again = fixed_at(Checkpoint(tmp_path), now_s=500.0)
    assert again.started_at_s == 117.0
    assert checkpoint.open_clock(again, 520.0).started_at_s == 117.0


def test_a_driver_that_died_before_the_stream_opened_leaves_no_clock(tmp_path: Path) -> None:
    fixed_at(Checkpoint(tmp_path), now_s=100.0)
    again = fixed_at(Checkpoint(tmp_path), now_s=500.0)
    assert Checkpoint(tmp_path).open_clock(again, 520.0).started_at_s == 520.0


def test_a_checkpoint_of_before_that_has_begun_keeps_its_clock(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    fixed = fixed_at(checkpoint, now_s=100.0)
    offsets = Path(checkpoint.spark, "offsets")
    offsets.mkdir(parents=True)
    (offsets / "0").write_text('v1\n{}\n{"ticks": 0}')
    assert checkpoint.open_clock(fixed, 117.0) == fixed
    assert checkpoint.fixed().started_at_s == 100.0


def test_a_torn_clock_is_that_of_the_application(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    fixed_at(checkpoint, now_s=100.0)
    (tmp_path / "clock").write_bytes(b'{"star')
    assert checkpoint.fixed().started_at_s == 100.0


def test_a_warm_up_that_was_killed_is_swept(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    fixed = fixed_at(checkpoint, now_s=100.0)
    left = tmp_path / WARM_UP / "logs"
    left.mkdir(parents=True)
    (left / "x.log").write_bytes(b"")
    checkpoint.sweep()
    assert not (tmp_path / WARM_UP).exists()
    assert checkpoint.fixed() == replace(fixed, graph=checkpoint.fixed().graph)
