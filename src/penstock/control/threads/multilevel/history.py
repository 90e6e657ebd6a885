"""What past adjustments teach: a queue placement, and the thread counts that it has worked well for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class PlacementRecord:
    """The most recent placement (its queues or its rung) with the fewest and most threads for which none was better."""

    placement: frozenset[str] | int
    fewest_threads: int
    most_threads: int

    def direction(self, threads: int) -> Literal["up", "down", "none"]:
        """Where to look for a better placement at another thread count; nowhere within the range."""
        if threads > self.most_threads:
            return "up"
        return "down" if threads < self.fewest_threads else "none"

    def after(self, placement: frozenset[str] | int, threads: int) -> PlacementRecord:
        """The record once a search at `threads` ended with `placement`: a new one, or a wider range.

        A rung fits itself to the thread count, so that its range goes on where the rung changes.
        """
        if isinstance(placement, frozenset) and placement != self.placement:
            return PlacementRecord(placement, threads, threads)
        fewest, most = min(self.fewest_threads, threads), max(self.most_threads, threads)
        return PlacementRecord(placement, fewest, most)
