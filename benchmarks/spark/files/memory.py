"""The memory of Spark's processes on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def resident_mb() -> float:
    """Resident memory of all processes that this one started, pages that several share counted once."""
    return sum(_proportional_kb(pid) for pid in _descendants(os.getpid())) / 1024


def _descendants(pid: int) -> Iterator[int]:
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in tasks.read_text().split()]
        except OSError:  # it has ended
            continue
        for child in children:
            yield child
            yield from _descendants(child)


def _proportional_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n")
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
