"""A step on its way through the threads: the block boundary that results are put back into order by."""

from __future__ import annotations

from penstock.block.block import Block
from penstock.block.dead_letters import Letters
from penstock.block.position import Frontier


class Step:
    """One block per source and what became of it; not a window punctuation, which travels inside blocks.

    A strand is a thread at work on the step, or a place where it waits for one; the step is complete when the last
    strand has ended. `missing` counts, for operators with several producers, those that have not come by yet.
    """

    __slots__ = ("frontier", "letters", "missing", "number", "strands", "streams", "tuples")

    def __init__(
        self, number: int, streams: list[Block], frontier: Frontier, missing: dict[int, int], tuples: int
    ) -> None:
        self.number, self.streams, self.frontier, self.missing = number, streams, frontier, missing
        self.tuples, self.strands = tuples, 1
        self.letters: list[tuple[int, Letters]] = []
