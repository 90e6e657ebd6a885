"""What a run gave."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from penstock.block.dead_letters import SCHEMA as LETTERS
from penstock.measure.observation import Observation
from penstock.watch.summary import Summary


@dataclass(slots=True)
class RunResult:
    """What a run gave: tables of memory sinks, counts and checksums of discarding ones, and every Observation.

    `dead_letters` has the first of them, `dead_letter_count` says how many there were; `dropped` counts, by sink, the
    tuples that a bounded sink in memory has dropped.  While an application runs, its `observations` may be a second
    behind; `Handle.observe` is not.  Of a long run they are the newest 2,000 at least, fewer where they have figures of
    more than 10,000 replicas; counts by slot are in the newest 500.  The journal has all, and
    `earlier` has the figures of the micro-batches before them, added up.

    >>> RunResult().dead_letter_count
    0
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    discarded: dict[str, tuple[int, int]] = field(default_factory=dict)
    dead_letters: pa.Table = field(default_factory=LETTERS.empty_table)
    dead_letter_count: int = 0
    observations: list[Observation] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    earlier: Summary | None = None
