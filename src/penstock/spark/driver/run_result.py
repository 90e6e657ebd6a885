"""What a run gave, and which of its Observations stay in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from penstock.block.dead_letters import SCHEMA as LETTERS
from penstock.measure.observation import Observation

_MOST_OBSERVATIONS = 10_000
_MOST_WITH_SLOTS = 500  # counts by slot are four fifths of an Observation: 4 KB for each keyed element


@dataclass(slots=True)
class RunResult:
    """What a run gave: tables of memory sinks, counts and checksums of discarding ones, and every Observation.

    `dead_letters` has the first of them, `dead_letter_count` says how many there were; `dropped` counts, by sink, the
    tuples that a bounded sink in memory has dropped.  While an application runs, its `observations` may be a second
    behind; `Handle.observe` is not.  Of a long run they are the newest 10,000 at least, and counts by slot are in the
    newest 500: the journal has all.

    >>> RunResult().dead_letter_count
    0
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    discarded: dict[str, tuple[int, int]] = field(default_factory=dict)
    dead_letters: pa.Table = field(default_factory=LETTERS.empty_table)
    dead_letter_count: int = 0
    observations: list[Observation] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)


def add_bounded(observations: list[Observation], new: Sequence[Observation]) -> None:
    """Adds Observations; older ones lose their counts by slot, and the oldest go, since the journal has all."""
    without_slots = max(len(observations) - _MOST_WITH_SLOTS, 0)
    observations += new
    for place in range(without_slots, len(observations) - _MOST_WITH_SLOTS):
        observations[place] = replace(observations[place], slot_tuples_by_element={}, slot_cpu_us_by_element={})
    if len(observations) > 2 * _MOST_OBSERVATIONS:
        del observations[:_MOST_OBSERVATIONS]
