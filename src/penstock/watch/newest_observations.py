"""The newest Observations of a run, within bounds; the figures of those that went are added up."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.measure.observation import Observation
from penstock.watch.summary import Summary, summary_of

MOST = 2_000
_MOST_REPLICAS = 10_000  # in all of them: one with its operators takes 1 to 2 kB
_LEAST = 300  # however many replicas there are
_AT_ONCE = 200
_MOST_WITH_SLOTS = 500  # counts by slot are four fifths of an Observation: 4 KB for each keyed element


def add_bounded(
    observations: list[Observation], new: Sequence[Observation], earlier: Summary | None = None
) -> Summary | None:
    """Adds Observations; older ones lose their counts by slot, and the oldest go, since the journal has all.

    Gives the figures of all that went: those of `earlier`, and of the ones that go now.
    """
    without_slots = max(len(observations) - _MOST_WITH_SLOTS, 0)
    observations += new
    for place in range(without_slots, len(observations) - _MOST_WITH_SLOTS):
        observations[place] = observations[place].without_slots()
    while observations and len(observations) >= _most(observations[-1]) + _AT_ONCE:
        earlier = summary_of(observations[:_AT_ONCE], earlier)
        del observations[:_AT_ONCE]
    return earlier


def _most(newest: Observation) -> int:
    """How many there may be, by the replicas of the newest."""
    replicas = sum(map(len, newest.replicas_by_element.values()))
    return max(min(MOST, _MOST_REPLICAS // max(replicas, 1)), _LEAST)
