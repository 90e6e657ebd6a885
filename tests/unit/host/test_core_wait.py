"""Time in line for a core, as Linux counts it."""

from __future__ import annotations

import threading
from pathlib import Path

from penstock.host import core_wait
from penstock.host.core_wait import core_wait_s
from penstock.measure.task.task_meters import ElementMeters, TaskStart
from penstock.measure.task.task_report import task_report


def test_the_second_figure_is_read_and_a_kernel_without_it_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "schedstat"
    file.write_text("1000 2500000000 7\n")
    assert core_wait_s(str(file)) == 2.5
    file.write_text("\n")
    assert core_wait_s(str(file)) == 0.0
    assert core_wait_s(str(tmp_path / "none")) == 0.0


def test_a_task_reports_what_it_stood_in_line_and_not_what_came_before() -> None:
    before_s = core_wait_s()
    report = task_report(ElementMeters().begin(0, TaskStart(stalled_s=before_s - 3.0)).report())
    assert 3.0 <= report.replica.stalled_s < 60.0


def test_each_thread_and_each_process_reads_its_own(tmp_path: Path) -> None:
    """A file that is kept open is that of the thread that opened it."""
    own_s = core_wait_s()
    other: list[float] = []
    thread = threading.Thread(target=lambda: other.append(core_wait_s()))
    thread.start()
    thread.join()
    assert other[0] <= own_s + 0.5
    kept = core_wait._by_thread.figures[core_wait.THIS_THREAD]
    kept.process -= 1  # as after a fork
    core_wait_s()
    assert core_wait._by_thread.figures[core_wait.THIS_THREAD] is not kept
