"""The newest Observations of a run, within bounds; the figures of those that went are added up."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.measure.observation import Observation
from penstock.watch.summary import Summary, summary_of

MOST = 2_000  # an Observation of a few elements takes some 10 kB
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
    while len(observations) >= MOST + _AT_ONCE:
        earlier = summary_of(observations[:_AT_ONCE], earlier)
        del observations[:_AT_ONCE]
    return earlier
