"""What a change of Configuration did: from which micro-batch on, and how long results were away because of it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.watch.figures import change_text
from penstock.watch.timeline import committed_at_s


@dataclass(frozen=True, slots=True)
class Effect:
    """The first micro-batch of a Configuration: what is new, and the gap between its results and those before.

    `began_at_s` is the commit of the micro-batch before it; `gap_before_s` is that one's own gap, `usual_gap_s` the
    median of all gaps so far.
    """

    text: str
    batch: int
    began_at_s: float
    gap_s: float
    gap_before_s: float
    usual_gap_s: float
    slots_rebuilt: int


def effect_at(first: int, text: str, observations: Sequence[Observation]) -> Effect | None:
    """What a change did that was in force from Observation number `first` on; None without two ahead of it."""
    if first < 2 or first >= len(observations):
        return None
    commits = [committed_at_s(o) for o in observations[: first + 1]]
    gaps = [later - earlier for earlier, later in pairwise(commits)]
    usual_s = statistics.median(gaps[:-1])
    rebuilt = observations[first].slots_rebuilt
    return Effect(text, observations[first].batch, commits[-2], gaps[-1], gaps[-2], usual_s, rebuilt)


def first_after(observations: Sequence[Observation], applied_at_s: float) -> int | None:
    """Number of the first micro-batch with what was applied at a moment: each takes its Configuration as it starts."""
    return next((i for i, o in enumerate(observations) if o.started_at_s >= applied_at_s), None)


def effects_of(observations: Sequence[Observation], configurations: Sequence[Configuration]) -> list[Effect]:
    """What every change did, with the Configuration that each micro-batch ran with."""
    found = [
        effect_at(i, change_text(configurations[i - 1], configurations[i]), observations)
        for i in range(1, len(observations))
        if configurations[i] != configurations[i - 1]
    ]
    return [effect for effect in found if effect is not None]
