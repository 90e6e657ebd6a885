"""The benchmark `soak` without Spark: its application is right, slopes and goals are read as they should be."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import penstock as ps
from benchmarks.soak.soak import SoakResult
from benchmarks.soak.soak_report import goals_missed, slope_h, soak_figures, soak_notes, soak_table
from benchmarks.soak.soak_scene import KEYED, effort_of, soak_application, ticks
from benchmarks.soak.usage import Usage, below, files_below
from penstock.measure.observation import Latency

EFFORT = effort_of(60)


def looks(memory_mb_h: float = 0.0, disk_mb_h: float = 0.0) -> tuple[Usage, ...]:
    """An hour of looks; the first ten minutes grow by a gigabyte, which is warm-up."""
    times = range(0, 3601, 15)
    grown = [min(at_s, 600) * 1000 / 600 for at_s in times]
    return tuple(
        Usage(at_s, 100 + grow + memory_mb_h * at_s / 3600, 200.0, 900.0, grow + disk_mb_h * at_s / 3600, 5.0, 40)
        for at_s, grow in zip(times, grown, strict=True)
    )


def result(memory_mb_h: float = 0.0, disk_mb_h: float = 0.0, last_ms: float = 100.0) -> SoakResult:
    first, last = (Latency(10.0, p95_ms, 200.0, 300.0) for p95_ms in (100.0, last_ms))
    return SoakResult(looks(memory_mb_h, disk_mb_h), first, last, 36_000, 3_600_000, 59, 0)


def test_slopes_are_of_what_comes_after_the_warm_up() -> None:
    figures = soak_figures(result(memory_mb_h=3.0, disk_mb_h=-1.5), EFFORT)
    assert figures["memory_slope_mb_h"] == pytest.approx(3.0)
    assert figures["disk_slope_mb_h"] == pytest.approx(-1.5)
    assert (figures["p95_first_ms"], figures["p95_last_ms"], figures["batches"]) == (100.0, 100.0, 36_000)
    assert figures["goals_missed"] == []


def test_one_look_that_sticks_out_does_not_move_a_slope() -> None:
    seen = [*looks(), replace(looks()[-1], at_s=3615.0, python_mb=5_000.0)]
    assert slope_h(seen, lambda look: look.memory_mb, 600) == pytest.approx(0.0)
    assert slope_h(seen[:1], lambda look: look.memory_mb, 600) is None


def test_goals_that_are_missed_are_named_with_their_figures() -> None:
    missed = soak_figures(result(6.0, 7.5, 120.0), EFFORT)["goals_missed"]
    assert missed == ["memory grows by 6.0 MB/h, at most 5", "disk grows by 7.5 MB/h, at most 5",
                      "p95 last over first is 1.20, at most 1.1"]  # fmt: skip
    assert goals_missed(None, None, None) == []


def test_a_report_has_all_that_was_measured() -> None:
    own = result()
    assert soak_table(own, EFFORT).row_count == 7
    assert soak_notes(own, soak_figures(own, EFFORT))[-1] == "all goals reached"


def test_short_runs_warm_up_for_a_sixth() -> None:
    assert (EFFORT.warm_s, EFFORT.part_s, EFFORT.sample_s, EFFORT.change_s) == (600.0, 600.0, 15.0, 60.0)
    short = effort_of(1)
    assert (short.warm_s, short.part_s, short.sample_s, short.change_s) == (10.0, 10.0, 2.5, 5.0)


def test_the_application_gives_bars_of_all_tuples_and_has_no_late_ones(tmp_path: Path) -> None:
    app = soak_application(EFFORT, tmp_path / "out")
    table = ticks(np.arange(2_000), EFFORT.rate_tuples_s, EFFORT.keys)
    result = ps.evaluate(app, {"left": table, "right": table}, at_end="fire")
    (path,) = (tmp_path / "out").glob("*.parquet")
    assert sum(pq.read_table(path)["n"].to_pylist()) == 2_000
    assert result.dead_letters.num_rows == 0
    assert {element.name for element in ps.Configuration.of(app, replicas=2).elements} >= set(KEYED)


def test_files_of_sinks_are_left_out(tmp_path: Path) -> None:
    for name in ("checkpoint/plans/1", "out/big", "journal.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(10_000))
    found = dict(files_below(tmp_path, tmp_path / "out"))
    assert sorted(path.name for path in found) == ["1", "journal.jsonl"]
    assert min(found.values()) >= 10_000


def test_processes_that_a_process_started_are_found() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            assert child.pid in below(os.getpid())
        finally:
            child.kill()
