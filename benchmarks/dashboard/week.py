"""A week of a run's journal, written as a driver writes it, and how long the dashboard takes to open it."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dashboard.made_journal import MadeJournal
from benchmarks.dashboard.watched import answered, cpu_s
from benchmarks.machine import this_machine
from benchmarks.report import Show, finish, measured, table_of, wide_console
from penstock.watch.dashboard_process import start_dashboard

WEEK_S = 7 * 86_400.0
MOST_S = 3.0
_PERIOD_S = 5.0  # of micro-batches: the files of seconds are full all the same
_IN_JOURNAL_S = 4 * 3600.0  # lines of micro-batches: the dashboard reads the newest 4 MB of them
_REQUESTS = ("api/run", "api/series?points=600", "api/decisions", "api/dead-letters")


@dataclass(frozen=True, slots=True)
class Effort:
    """A run of so many seconds, whose journal is opened some times."""

    span_s: float = WEEK_S
    times: int = 5


def run_week(*, quick: bool, json_file: Path | None, folder: Path | None) -> None:
    """Prints how long it takes to open the journal, and ends with one JSON object."""
    effort = Effort(86_400.0, 3) if quick else Effort()
    opened, megabytes = measured(_measure, effort, folder)
    opened_s, cpu = zip(*opened, strict=True)
    body = {
        "week_open_s": round(statistics.median(opened_s), 3), "slowest_s": round(max(opened_s), 3),
        "week_open_cpu_s": round(statistics.median(cpu), 3),
        "journal_mb": round(megabytes, 1), "days": effort.span_s / 86_400, "times": effort.times,
    }  # fmt: skip
    table = table_of("the dashboard of a run that ended, from the start of its process", "figure", "found", "bound")
    table.add_row(f"opened, {body['days']:g} days of journal (s)", f"{body['week_open_s']}", f"at most {MOST_S:g}")
    table.add_row("CPU of its process until then (s)", f"{body['week_open_cpu_s']}", "")
    wide_console(100).print(table)
    finish(body, this_machine(), json_file)


def _measure(effort: Effort, folder: Path, show: Show) -> tuple[list[tuple[float, float]], float]:
    show("writing the journal")
    checkpoint = write_week(folder / "week", effort.span_s).parent
    show("opening it")
    size = sum(path.stat().st_size for path in checkpoint.iterdir())
    return [opened_s(checkpoint) for _ in range(effort.times)], size / 1e6


def write_week(folder: Path, span_s: float = WEEK_S) -> Path:
    """The journal of a run that ended after so long."""
    journal = MadeJournal(folder, _PERIOD_S)
    while journal.seconds < span_s:
        journal.write(with_lines=span_s - journal.seconds <= _IN_JOURNAL_S)
    journal.end()
    return journal.path


def opened_s(checkpoint: Path) -> tuple[float, float]:
    """From the start of the dashboard's process until all that the page asks for is answered, and its CPU till then."""
    begin_s = time.monotonic()
    page = start_dashboard(checkpoint)
    try:
        for path in _REQUESTS:
            answered(page, path)
        return time.monotonic() - begin_s, cpu_s(page)
    finally:
        page.close()
