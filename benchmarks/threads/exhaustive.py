"""The best of all queue placements at all thread levels: all of them on the plant, in bounded time on a machine."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.threads.element_case import ElementCase
from penstock.control.threads.element_setting import ElementSetting

Note = Callable[[str], object]
_FINALISTS, _ONE_IN, _ROUNDS = 8, 4, 3  # settings that come to the end; one in so many goes on; measurements at the end
_SHORTEST_S = 0.02


@dataclass(frozen=True, slots=True)
class Contest:
    """Tuples per second of the settings that came to the end; so many were tried, of all that there are."""

    rates: dict[ElementSetting, float]
    tried: int
    settings: int


def all_settings(case: ElementCase) -> list[ElementSetting]:
    """Every subset of operators with queues, at every level."""
    sizes = range(len(case.operators) + 1)
    placements = itertools.chain.from_iterable(itertools.combinations(case.operators, size) for size in sizes)
    return [ElementSetting(level, frozenset(queued)) for queued in placements for level in case.levels]


def best_tuples_s(case: ElementCase) -> float:
    """The best of all settings, where each one's throughput is known."""
    return max(case.fixed_tuples_s(setting) for setting in all_settings(case))


def contest(case: ElementCase, found: Sequence[ElementSetting], seconds: float, note: Note, seed: int) -> Contest:
    """All settings against one another and those that policies `found`, on a machine, in about so many seconds.

    All get a first impression, the better quarter a longer one, and so on; if even that takes too long, as many as it
    allows are drawn. The last ones and those found are then measured in turns: by what they showed before, the
    luckiest would win.
    """
    assert case.glimpsed_tuples_s is not None
    every = all_settings(case)
    left = random.Random(seed).sample(every, min(len(every), max(_FINALISTS, int(seconds / 2 / _SHORTEST_S))))
    tried, rounds = len(left), max(1, math.ceil(math.log(len(left) / _FINALISTS, _ONE_IN)))
    while len(left) > _FINALISTS:
        each_s = max(_SHORTEST_S, seconds / rounds / len(left))
        rates = {}
        for number, setting in enumerate(left):
            note(f"{case.name}: setting {number + 1} of {len(left)}, {each_s:.2f} s each")
            rates[setting] = case.glimpsed_tuples_s(setting, each_s)
        left = sorted(left, key=rates.__getitem__, reverse=True)[: max(_FINALISTS, len(left) // _ONE_IN)]
    return Contest(_in_turns(case, [*dict.fromkeys((*left, *found))], note), tried, len(every))


def _in_turns(case: ElementCase, settings: Sequence[ElementSetting], note: Note) -> dict[ElementSetting, float]:
    assert case.glimpsed_tuples_s is not None
    rates: dict[ElementSetting, list[float]] = {setting: [] for setting in settings}
    for turn in range(_ROUNDS):
        note(f"{case.name}: the best {len(settings)}, {turn + 1} of {_ROUNDS} times")
        for setting in settings if turn % 2 else reversed(settings):
            rates[setting].append(case.glimpsed_tuples_s(setting, 2 * case.period_s))
    return {setting: fmean(own) for setting, own in rates.items()}
