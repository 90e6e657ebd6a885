"""Copies of punctuations that meet again: only the last one of each goes on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.block.punctuation import Punctuations, punctor_of
from penstock.kernels.snapshot import Kept


class MarkCopies(Kept):
    """Counts the copies of each mark that have come, as some may be delayed on their way."""

    kept = ("_waiting", "_arrived")

    def __init__(self, copies_by_punctor: Mapping[int, int]) -> None:
        self._needed = np.zeros(max(copies_by_punctor, default=0) + 1, np.int64)
        for punctor, copies in copies_by_punctor.items():
            self._needed[punctor] = copies
        self._waiting = np.empty(0, np.int64)  # identities of marks of which copies are still to come
        self._arrived = np.empty(0, np.int64)  # how many of each have come

    def last(self, marks: Punctuations) -> Punctuations | None:
        """The marks that are the last of their copies."""
        everyone = np.concatenate([self._waiting, marks.identities])
        weights = np.concatenate([self._arrived, np.ones(len(marks), np.int64)])
        known, backwards, places = np.unique(everyone[::-1], return_index=True, return_inverse=True)
        arrived = np.bincount(places, weights=weights[::-1]).astype(np.int64)
        complete = arrived == self._needed[punctor_of(known)]
        self._waiting, self._arrived = known[~complete], arrived[~complete]
        newest = len(everyone) - 1 - backwards[complete]
        return marks.take(np.sort(newest) - (len(everyone) - len(marks)))
