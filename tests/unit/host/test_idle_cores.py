"""Idle cores: the system's own counts, over the time that is asked about."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.host.idle_cores import IdleCores, idle_seconds


def test_idle_time_is_of_the_cores_this_process_may_use(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    absent = max(os.sched_getaffinity(0)) + 1000
    stat = tmp_path / "stat"
    line = "cpu{} 1 2 3 700 50 0 0 0 0 0\n"
    stat.write_text("cpu  9 9 9 9999 9 0 0 0 0 0\n" + line.format(core) + line.format(absent) + "intr 5\n")
    assert idle_seconds(str(stat)) == 750 / os.sysconf("SC_CLK_TCK")
    assert idle_seconds(str(tmp_path / "missing")) is None
    assert idle_seconds() is not None


def test_time_between_tasks_does_not_count() -> None:
    readings = iter([10.0, 11.0, 50.0, 50.5, 50.5, 52.5])
    moments = iter([0.0, 2.0, 30.0, 31.0, 31.0, 32.0])
    idle = IdleCores(lambda: next(readings), lambda: next(moments))
    idle.resume()
    idle.pause()
    idle.resume()
    assert idle.take() == 1.5 / 3.0
    idle.pause()
    assert idle.take() == 2.0
    assert idle.take() is None


def test_without_counts_nothing_is_known() -> None:
    idle = IdleCores(lambda: None)
    idle.resume()
    assert idle.take() is None
