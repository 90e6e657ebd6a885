"""The search for the best thread level: doubling (or halving) while that pays, then refining next to the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Stage = Literal["start", "leap", "turn", "refine", "done"]


@dataclass(frozen=True, slots=True)
class LevelSearch:
    """A search under way: `level` is being measured, `best` is the best so far and gave `top_rate`.

    Levels from `low` downwards and from `high` upwards are known to be no better. `upwards` is where it leaps to.
    """

    level: int
    max_level: int
    upwards: bool = True
    stage: Stage = "start"
    best: int = 0
    top_rate: float = 0.0
    low: int = 0
    high: int = 0
    seen: tuple[tuple[int, float], ...] = ()  # levels and their rates, in the order they were measured
    least: int = 1

    @property
    def done(self) -> bool:
        return self.stage == "done"


@dataclass(frozen=True, slots=True)
class LevelRules:
    """When a level is better than the best so far.

    More threads must bring `gain` of what the same efficiency would bring, and never less than `least_gain`; fewer
    threads may cost `give`. Refining stops where the open gap is within `resolution` of the best level. With `trend`
    set, levels are left out that could not bring it on top, given that each thread more brings no more than the last.
    With `proportional`, fewer threads count as tried in vain where the rate of still fewer ones, in proportion, would
    not do: nothing is lost by threads that cannot pay.
    """

    gain: float = 0.05
    least_gain: float = 0.01
    give: float = 0.01
    resolution: float = 1 / 16
    trend: float | None = None
    proportional: bool = False


DEFAULT_RULES = LevelRules()


def start_search(level: int, max_level: int, *, upwards: bool = True, least: int = 1) -> LevelSearch:
    """A search that begins with a measurement of `level`."""
    return LevelSearch(level, max_level, upwards, low=least - 1, high=max_level + 1, least=least)


def step(search: LevelSearch, rate: float, rules: LevelRules) -> tuple[LevelSearch, str]:
    """The search after `rate` was measured at its level, and why its next level (at the end the best) was chosen."""
    search = replace(search, seen=(*search.seen, (search.level, rate)))
    if search.stage == "start":
        first = replace(search, best=search.level, top_rate=rate, stage="leap")
        return _leap(first, rules, f"{search.level} threads to begin with")
    better = _better(search, rate, rules)
    found = _with_result(search, rate, better)
    compared = (
        f"{search.level} threads gave {rate / search.top_rate - 1:+.1%} on {search.best}" if search.top_rate else ""
    )
    if search.stage in ("leap", "turn") and better:
        return _leap(replace(found, stage="leap"), rules, compared)
    if search.stage == "leap" and search.best == _first_level(search):
        return _leap(replace(found, upwards=not found.upwards, stage="turn"), rules, compared)
    return _refine(found, rules, compared)


def _first_level(search: LevelSearch) -> int:
    """The level it began with, while no leap has paid; otherwise 0, which no level is."""
    unpaid = search.low == search.least - 1 if search.upwards else search.high == search.max_level + 1
    return search.best if unpaid else 0


def _better(search: LevelSearch, rate: float, rules: LevelRules) -> bool:
    if search.level > search.best:
        needed = max(rules.least_gain, rules.gain * (search.level / search.best - 1))
        return rate > search.top_rate * (1 + needed)
    return rate >= search.top_rate * (1 - rules.give)


def _with_result(search: LevelSearch, rate: float, better: bool) -> LevelSearch:
    level, best = search.level, search.best
    if better:
        top_rate = max(rate, search.top_rate)
        if level > best:
            return replace(search, best=level, top_rate=top_rate, low=best)
        return replace(search, best=level, top_rate=top_rate, high=best)
    return replace(search, low=level) if level < best else replace(search, high=level)


def _leap(search: LevelSearch, rules: LevelRules, why: str) -> tuple[LevelSearch, str]:
    if search.upwards:
        level = min(2 * search.best, search.max_level, search.high - 1)
        if level > search.best:
            return replace(search, level=level), f"{why}; try {level}"
    else:
        level = max(search.best // 2, search.low + 1)
        if level < search.best:
            return replace(search, level=level), f"{why}; try {level}"
    if search.stage == "leap" and _first_level(search):
        return _leap(replace(search, upwards=not search.upwards, stage="turn"), rules, why)
    return _refine(search, rules, why)


def _refine(search: LevelSearch, rules: LevelRules, why: str) -> tuple[LevelSearch, str]:
    gaps = ((search.high - search.best - 1, search.high), (search.best - search.low - 1, search.low))
    for gap, end in sorted(gaps, key=lambda one: -one[0]):
        level = (search.best + end) // 2
        if gap >= max(1.0, rules.resolution * search.best) and _may_pay(search, level, rules):
            if rules.proportional and _too_few(search, level, rules):
                return _refine(replace(search, low=level), rules, why)
            return replace(search, stage="refine", level=level), f"{why}; refine to {level}"
    return replace(search, stage="done", level=search.best), f"{why}; {search.best} threads are best"


def _too_few(search: LevelSearch, level: int, rules: LevelRules) -> bool:
    """Whether it costs too much even if its threads bring as much each as those of the next lower level measured."""
    below, rate = max((seen for seen in search.seen if seen[0] < level), default=(0, 0.0))
    return level < search.best and rate * level < search.top_rate * (1 - rules.give) * below


def _may_pay(search: LevelSearch, level: int, rules: LevelRules) -> bool:
    return rules.trend is None or most_rate(search.seen, level) >= search.top_rate * (1 + rules.trend)


def most_rate(seen: Sequence[tuple[int, float]], level: int) -> float:
    """The most that a level can give where each thread more brings no more than the last: the lines next to it."""
    known = sorted(dict(seen).items())
    below, above = [point for point in known if point[0] < level][-2:], [p for p in known if p[0] > level][:2]
    bounds = [
        near[1] + (near[1] - far[1]) / (near[0] - far[0]) * (level - near[0])
        for near, far in ([below[::-1]] if len(below) == 2 else []) + ([above] if len(above) == 2 else [])
    ]
    return min(bounds, default=math.inf)
