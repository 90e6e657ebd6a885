"""The figures of a run over time: points in memory by second, minute and hour, and any stretch of them as columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from penstock.control.journal.levels import LEVELS, ROUNDING_S
from penstock.control.journal.point import Point, bucket_of, ended_at_s, merged
from penstock.watch.recorded.packed_rows import PackedRows

MOST_ROWS = {"seconds": 7_200, "minutes": 10_080, "hours": 20_000}
MOST_POINTS = 2_000
_WITH_EXTREMES = ("arrivals", "served", "backlog", "p50", "p95", "p99", "micro_batch_ms")
_NAMES = list(LEVELS)


class Series:
    """Bounded: seconds of two hours, minutes of a week, hours of years."""

    def __init__(self) -> None:
        self._rows = {name: PackedRows(most) for name, most in MOST_ROWS.items()}
        self._open: dict[str, list[Point]] = {name: [] for name in LEVELS}
        self._total: Point | None = None

    def load(self, level: str, rows: Sequence[Point]) -> None:
        """Rows that are on disk, the coarser levels after the finer ones."""
        self._rows[level].extend(rows[-MOST_ROWS[level] :])

    def loaded(self) -> None:
        """All levels are there: what no coarser row has is added up from the finer ones."""
        for finer, coarser in (("seconds", "minutes"), ("minutes", "hours")):
            newest_s = self._rows[coarser].newest_s(-math.inf) + ROUNDING_S
            for row in list(self._rows[finer].after(newest_s)):
                self._add(coarser, row, goes_on=False)
        rows = [replace(row, ranges={}) for row in self._covering(-math.inf)]
        if rows:
            self._total = merged(rows)

    @property
    def newest_s(self) -> float:
        """Up to when rows of seconds are there; minus infinity where none is."""
        end_s = self._rows["seconds"].last_end_s
        return -math.inf if end_s is None else end_s

    def add(self, point: Point) -> None:
        self._add("seconds", point)
        bare = replace(point, ranges={})
        self._total = bare if self._total is None else merged([self._total, bare])

    def _add(self, level: str, point: Point, *, goes_on: bool = True) -> None:
        gathered, length_s = self._open[level], LEVELS[level]
        if gathered and bucket_of(gathered[-1], length_s) != bucket_of(point, length_s):
            row = merged(gathered)
            self._open[level] = []
            self._rows[level].append(row)
            place = _NAMES.index(level) + 1
            if goes_on and place < len(_NAMES):
                self._add(_NAMES[place], row)
        self._open[level].append(point)
        if len(self._open[level]) > 64:
            self._open[level] = [merged(self._open[level])]

    def total(self) -> Point | None:
        """The counts of the whole run, without ranges; None before the first micro-batch."""
        return self._total

    def whole(self) -> Point | None:
        """The whole run as one point, with the ranges of all figures."""
        rows = self._covering(-math.inf)
        return merged(rows) if rows else None

    def _covering(self, from_s: float, level: str | None = None) -> list[Point]:
        """Rows from a moment on: of the hours, and where those end of minutes, then seconds, then what is open."""
        found: list[Point] = []
        levels = _NAMES[::-1] if level is None else _NAMES[: _NAMES.index(level) + 1][::-1]
        newest_s = -math.inf  # up to when coarser rows go
        for name in levels:
            rows = self._rows[name]
            found += rows.after(max(newest_s + ROUNDING_S, math.nextafter(from_s, -math.inf)))
            newest_s = max(newest_s, rows.newest_s(newest_s))
        return found + [row for row in self._open["seconds"] if ended_at_s(row) > newest_s + ROUNDING_S or row.steps]

    def between(self, from_s: float | None, to_s: float | None, points: int) -> tuple[str, list[Point]]:
        """At most so many points of a stretch of time, and the level that they are from."""
        points = min(max(points, 1), MOST_POINTS)
        first_s, last_s = self.begin_s, self.end_s
        begin_s = first_s if from_s is None or not math.isfinite(from_s) else max(from_s, first_s)
        end_s = last_s if to_s is None or not math.isfinite(to_s) else min(to_s, last_s)
        if end_s < begin_s or not math.isfinite(begin_s):
            return "seconds", []
        level = self._level(begin_s, end_s)
        rows = [r for r in self._covering(begin_s, level) if r.begin_s <= end_s and ended_at_s(r) >= begin_s]
        rows.sort(key=ended_at_s)
        if len(rows) <= points:
            return level, rows
        bucket_s = max((end_s - begin_s) / points, 1e-3)
        found: dict[int, list[Point]] = {}
        for row in rows:
            place = min(max(int((ended_at_s(row) - begin_s) / bucket_s), 0), points - 1)
            found.setdefault(place, []).append(row)
        return level, [merged(found[place]) for place in sorted(found)]

    def _level(self, begin_s: float, end_s: float) -> str:
        """The finest that has the stretch, and not too many rows of it."""
        for name in _NAMES[:-1]:
            begins_s = self._rows[name].first_begin_s
            is_there = not self._rows[_next(name)] or (
                begins_s is not None and begins_s <= begin_s + LEVELS[_next(name)]
            )
            if is_there and (end_s - begin_s) / LEVELS[name] <= 2 * MOST_POINTS:
                return name
        return _NAMES[-1]

    @property
    def begin_s(self) -> float:
        firsts = [first_s for rows in self._rows.values() if (first_s := rows.first_begin_s) is not None]
        return min([*firsts, *(row.begin_s for row in self._open["seconds"])], default=math.inf)

    @property
    def end_s(self) -> float:
        lasts = [last_s for rows in self._rows.values() if (last_s := rows.last_end_s) is not None]
        return max([*lasts, *(ended_at_s(row) for row in self._open["seconds"])], default=-math.inf)


def _next(level: str) -> str:
    return _NAMES[_NAMES.index(level) + 1]


def columns(points: Iterable[Point]) -> dict[str, Any]:
    """Moments, and by figure its means, with the extremes of those that are drawn with them; None: not measured."""
    rows = list(points)
    names = list(dict.fromkeys(name for row in rows for name in row.ranges))
    series: dict[str, dict[str, list[float | None]]] = {}
    for name in names:
        own = [row.ranges.get(name) for row in rows]
        series[name] = {"mean": [None if each is None else _short(each[1]) for each in own]}
        if name in _WITH_EXTREMES:
            series[name]["low"] = [None if each is None else _short(each[0]) for each in own]
            series[name]["high"] = [None if each is None else _short(each[2]) for each in own]
    return {
        "t": [round(ended_at_s(row), 3) for row in rows],
        "batch": [row.batch for row in rows],
        "broken_steps": [row.broken_steps for row in rows],
        "dead_letters": [row.dead_letters for row in rows],
        "series": series,
    }


def _short(value: float) -> float:
    return float(f"{value:.7g}")
