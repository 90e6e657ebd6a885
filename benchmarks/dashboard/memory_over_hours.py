"""Memory of a dashboard over hours of a run, whose journal is written in minutes."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.dashboard.made_journal import MadeJournal
from benchmarks.dashboard.watched import answered, watched
from benchmarks.report import Show

_PERIOD_S = 2.0  # of micro-batches
_FULL_AFTER_H = 17.0  # kept are 2,000 decisions, at two a minute; 7,200 rows of seconds
_SAMPLE_H = 0.25
_AT_ONCE = 100  # micro-batches


@dataclass(frozen=True, slots=True)
class Effort:
    hours: float = 29.0


QUICK = Effort(20.0)


@dataclass(frozen=True, slots=True)
class Sample:
    """Resident memory after so many hours of the run."""

    hour: float
    memory_mb: float


def measure_memory(effort: Effort, folder: Path, show: Show) -> list[Sample]:
    """Of a dashboard with a client, by quarter of an hour of the run."""
    journal, found = MadeJournal(folder / "hours", _PERIOD_S), list[Sample]()
    (folder / "hours" / "lease").write_text(f"1 {os.getpid()} {socket.gethostname()} made-up\n")
    journal.write()
    with watched(journal.path.parent, clients=1) as own:
        while journal.seconds < effort.hours * 3600:
            for _ in range(_AT_ONCE):
                journal.write()
            answered(own.page, "api/run")  # it has read them by then, and told its client
            hour = journal.seconds / 3600
            if hour >= (found[-1].hour if found else 0.0) + _SAMPLE_H:
                show(f"{hour:.0f} of {effort.hours:.0f} hours")
                found.append(Sample(hour, own.memory_mb))
    return found


def slope_mb_h(samples: Sequence[Sample]) -> float:
    """By the hour of the run, once what is kept in memory is full.

    >>> round(slope_mb_h([Sample(1.0, 50.0), Sample(20.0, 60.0), Sample(21.0, 60.5), Sample(22.0, 61.0)]), 6)
    0.5
    """
    own = [(sample.hour, sample.memory_mb) for sample in samples if sample.hour >= _FULL_AFTER_H]
    if len(own) < 2:
        return 0.0
    hours, sizes = np.array(own).T
    return float(np.polyfit(hours - hours[0], sizes, 1)[0])
