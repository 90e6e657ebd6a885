"""The journal of a pool: a JSON line for each decision about its level."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from penstock.measure.element_observation import ElementObservation


class LevelJournal:
    """Lines behind those that are there.  A line that cannot be written is told of once; calls go on without it."""

    def __init__(self, path: Path) -> None:
        self._path, self._told = path, False

    def write(self, seen: ElementObservation, calls: int, next_level: int, *, settled: bool, reason: str) -> None:
        line = {
            "at_s": round(time.time(), 3), "pid": os.getpid(), "period_s": round(seen.period_s, 4),
            "level": seen.level, "max_level": seen.max_level, "tuples_s": round(seen.throughput_tuples_s, 2),
            "calls": calls, "next_level": next_level, "settled": settled, "reason": reason,
        }  # fmt: skip
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            self._tell(error)

    def _tell(self, error: OSError) -> None:
        if not self._told:
            self._told = True
            print(
                f"elastic_map: the journal '{self._path}' cannot be written on this host; it goes on without: {error}",
                file=sys.stderr,
                flush=True,
            )
