"""What a run gave."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from penstock.block.dead_letters import SCHEMA as LETTERS
from penstock.measure.observation import Observation
from penstock.watch.summary import Summary


@dataclass(slots=True)
class RunResult:
    """The results of a run: tables of memory sinks, counts and checksums of discarding sinks, Observations.

    `dead_letters` has the first 10,000 of them, `dead_letter_count` is their number.  `dropped` counts, by sink, the
    tuples that a bounded memory sink has dropped.  `observations` are those of the newest 2,000 micro-batches or more
    (fewer if they hold figures of more than 10,000 replicas), with counts by slot in the newest 500; `earlier` has the
    sums over all micro-batches before them, and the journal has every one.  While an application runs, `observations`
    may be a second behind; `Handle.observe` is not.

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
