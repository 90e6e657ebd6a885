"""Down-sampled figures of a run, next to its journal: seconds, minutes and hours, each in bounded files of its own."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from penstock.control.journal.parts import PartFile, part_before
from penstock.control.journal.point import Point, bucket_of, ended_at_s, merged

LEVELS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0}
ROUNDING_S = 2e-3  # of the ends of rows, which are written shortened
_TAIL_BYTES = 1 << 18
_MOST_NAMES = 2_000
_COUNTS = ("batches", "batch", "tuples_in", "tuples_out", "dead_letters", "steps", "broken_steps")
_SUMS = ("run_s", "replica_s")


def level_path(journal: Path, level: str) -> Path:
    """
    >>> str(level_path(Path("c/journal.jsonl"), "minutes"))
    'c/journal.minutes.jsonl'
    """
    return journal.with_name(f"{journal.stem}.{level}.jsonl")


class Levels:
    """Adds up points and writes a row where a second, a minute or an hour is over.

    What a killed driver had not added up is read again from the finer level.
    """

    def __init__(self, journal: Path, most_bytes: int) -> None:
        shares = {"seconds": most_bytes // 2, "minutes": most_bytes // 4, "hours": most_bytes // 4}
        self._files = {name: PartFile(level_path(journal, name), shares[name] // 2) for name in LEVELS}
        self._open: dict[str, list[Point]] = {name: [] for name in LEVELS}
        for finer, coarser in (("seconds", "minutes"), ("minutes", "hours")):
            self._open[coarser] = _not_added_up(journal, finer, coarser)

    def add(self, point: Point) -> None:
        self._add("seconds", point)

    def close(self) -> None:
        """Writes what is open: the run has ended, or its driver has."""
        for name in LEVELS:
            self._write(name)
        for file in self._files.values():
            file.close()

    def _add(self, level: str, point: Point) -> None:
        gathered, length_s = self._open[level], LEVELS[level]
        if gathered and bucket_of(gathered[-1], length_s) != bucket_of(point, length_s):
            self._write(level)
        self._open[level].append(point)
        if len(self._open[level]) > 64:  # a second of many micro-batches is kept short
            self._open[level] = [merged(self._open[level])]

    def _write(self, level: str) -> None:
        gathered, self._open[level] = self._open[level], []
        if not gathered:
            return
        row = merged(gathered)
        self._files[level].append([row_text(row)])
        names = list(LEVELS)
        place = names.index(level) + 1
        if place < len(names):
            self._add(names[place], row)


def row_text(row: Point) -> str:
    """One line of a level; names with counts of 0 are left out."""
    body: dict[str, Any] = {"t": round(row.begin_s, 3), "s": round(row.span_s, 6)}
    body |= {name: getattr(row, name) for name in _COUNTS if getattr(row, name)}
    body |= {name: round(getattr(row, name), 3) for name in _SUMS if getattr(row, name)}
    body["ranges"] = {name: _shortened(own) for name, own in row.ranges.items()}
    return json.dumps(body, separators=(",", ":"))


def _shortened(own: Sequence[float]) -> list[float] | float:
    """One figure where all three are the same."""
    short = [float(f"{value:.9g}") for value in own]
    return short[0] if short[0] == short[1] == short[2] else short


def row_of(line: str) -> Point | None:
    """The row of a line, None where it is none: files may be cut or foreign."""
    try:
        body = json.loads(line)
        begin_s, span_s = float(body["t"]), float(body["s"])
        counts = {name: int(body[name]) for name in _COUNTS if name in body}
        run_s, replica_s = (float(body.get(name, 0.0)) for name in _SUMS)
        ranges = {str(name)[:200]: _three(own) for name, own in list(body["ranges"].items())[:_MOST_NAMES]}
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError):
        return None
    # One figure that is not finite makes the sum so; a test for each would take a third of the reading.
    total = begin_s + span_s + run_s + replica_s + sum(map(sum, ranges.values()))
    if not math.isfinite(total) or not 0 <= span_s < 1e9 or not 0 <= begin_s < 1e11:
        return None
    if any(abs(count) > 1e18 for count in (*counts.values(), run_s, replica_s)):
        return None
    return Point(begin_s, span_s, ranges=ranges, run_s=run_s, replica_s=replica_s, **counts)


def _three(own: Any) -> tuple[float, float, float]:
    if type(own) is float or type(own) is int:
        figure = float(own)
        return figure, figure, figure
    lowest, mean, highest = own
    return float(lowest), float(mean), float(highest)


def read_level(journal: Path, level: str, most_rows: int = 100_000) -> list[Point]:
    """The newest rows of a level in the order of time, with the part before; what cannot be read is left out."""
    path = level_path(journal, level)
    lines = [line for part in (part_before(path), path) for line in _lines(part)]
    rows = [row for line in lines[-most_rows:] if (row := row_of(line.decode(errors="replace"))) is not None]
    rows.sort(key=lambda row: row.begin_s)
    return rows


def _rows(path: Path, tail_bytes: int) -> Iterator[Point]:
    """The rows of the end of a file."""
    for line in _lines(path, tail_bytes):
        row = row_of(line.decode(errors="replace"))
        if row is not None:
            yield row


def _lines(path: Path, tail_bytes: int | None = None) -> Iterator[bytes]:
    with contextlib.suppress(OSError), path.open("rb") as file:
        if tail_bytes is not None:
            file.seek(max(file.seek(0, os.SEEK_END) - tail_bytes, 0))
        for line in file:
            if line.endswith(b"\n"):
                yield line


def _not_added_up(journal: Path, finer: str, coarser: str) -> list[Point]:
    """Rows of the finer level that are newer than the coarser one's last."""
    newest_s = max(map(ended_at_s, _rows(level_path(journal, coarser), _TAIL_BYTES)), default=-math.inf)
    rows = [row for row in _rows(level_path(journal, finer), _TAIL_BYTES) if ended_at_s(row) > newest_s + ROUNDING_S]
    last = bucket_of(rows[-1], LEVELS[coarser]) if rows else None
    return [row for row in rows if bucket_of(row, LEVELS[coarser]) == last]
