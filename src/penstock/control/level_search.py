"""The search for the best thread level: doubling (or halving) while that pays, then refining beside the best."""

from __future__ import annotations

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

    @property
    def done(self) -> bool:
        return self.stage == "done"


@dataclass(frozen=True, slots=True)
class LevelRules:
    """When a level is better than the best so far.

    More threads must bring `gain` of what the same efficiency would bring, and never less than `least_gain`; fewer
    threads may cost `give`. Refining stops where the open gap is within `resolution` of the best level.
    """

    gain: float = 0.05
    least_gain: float = 0.01
    give: float = 0.01
    resolution: float = 1 / 16


DEFAULT_RULES = LevelRules()


def start_search(level: int, max_level: int, *, upwards: bool = True) -> LevelSearch:
    """A search that begins with a measurement of `level`."""
    return LevelSearch(level, max_level, upwards, high=max_level + 1)


def step(search: LevelSearch, rate: float, rules: LevelRules) -> tuple[LevelSearch, str]:
    """The search after `rate` was measured at its level, and why its next level (at the end the best) was chosen."""
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
    unpaid = search.low == 0 if search.upwards else search.high == search.max_level + 1
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
        level = max(search.best // 2, 1, search.low + 1)
        if level < search.best:
            return replace(search, level=level), f"{why}; try {level}"
    if search.stage == "leap" and _first_level(search):
        return _leap(replace(search, upwards=not search.upwards, stage="turn"), rules, why)
    return _refine(search, rules, why)


def _refine(search: LevelSearch, rules: LevelRules, why: str) -> tuple[LevelSearch, str]:
    above, below = search.high - search.best - 1, search.best - search.low - 1
    open_gap = rules.resolution * search.best
    if above >= below and above >= max(1.0, open_gap):
        level = (search.best + search.high) // 2
    elif below >= max(1.0, open_gap):
        level = (search.low + search.best) // 2
    else:
        return replace(search, stage="done", level=search.best), f"{why}; {search.best} threads are best"
    return replace(search, stage="refine", level=level), f"{why}; refine to {level}"
