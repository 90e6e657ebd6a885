"""When tuples of a source arrived, by their numbers, as reported by the tasks of this and earlier micro-batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.measure.arrival_kernels import Floats, Integers
from penstock.measure.task.arrival_pieces import Piece

_MOST_EARLIER = 8192  # pieces of earlier micro-batches: tuples may have waited for their slots


class _Pieces:
    def __init__(self, pieces: Sequence[Piece]) -> None:
        ordered = sorted(pieces)
        self.starts = np.array([own[0] for own in ordered], np.int64)
        self.stops = np.array([own[1] for own in ordered], np.int64)
        self._firsts = np.array([own[2] for own in ordered], np.float64)
        self._lasts = np.array([own[3] for own in ordered], np.float64)

    def __len__(self) -> int:
        return len(self.starts)

    def arrival_s(self, numbers: Integers) -> tuple[Floats, np.ndarray]:
        """The arrivals, linear within a piece, and which of them lie in one; others are those of the piece before."""
        place = np.searchsorted(self.starts, numbers, side="right") - 1
        is_inside = (place >= 0) & (numbers < self.stops[place])
        place = np.maximum(place, 0)
        width = np.maximum(self.stops[place] - self.starts[place] - 1, 1)
        share = np.clip((numbers - self.starts[place]) / width, 0.0, 1.0)
        return self._firsts[place] + share * (self._lasts[place] - self._firsts[place]), is_inside


class ArrivalTable:
    """The arrivals of one source.

    `counted`: an intake numbers the tuples anew, one after the other as they come, and so does this.
    """

    def __init__(self, *, counted: bool = False) -> None:
        self._counted, self._count = counted, 0
        self._now, self._before = _Pieces(()), _Pieces(())
        self._earlier: list[Piece] = []
        self._newest: list[Piece] = []

    def note(self, pieces: Sequence[Piece]) -> None:
        """What a micro-batch has read; for rows that it reads again, the newest report counts."""
        self._earlier = (self._earlier + self._newest)[-_MOST_EARLIER:]
        self._newest = self._numbered(sorted(pieces)) if self._counted else list(pieces)
        self._now, self._before = _Pieces(self._newest), _Pieces(self._earlier)

    def _numbered(self, pieces: Sequence[Piece]) -> list[Piece]:
        found = []
        for start, stop, first_s, last_s in pieces:
            found.append((self._count, self._count + stop - start, first_s, last_s))
            self._count += stop - start
        return found

    @property
    def tuples(self) -> int:
        """Of the newest micro-batch."""
        return sum(piece[1] - piece[0] for piece in self._newest)

    def spread(self, results: int) -> Integers:
        """Rows of (first number, numbers, results): so many results over all tuples of the newest micro-batch."""
        sizes = np.array([piece[1] - piece[0] for piece in self._newest], np.int64)
        upto = np.concatenate([[0], np.cumsum(sizes)])
        shares = np.diff(np.rint(upto / max(upto[-1], 1) * results).astype(np.int64))
        starts = np.array([piece[0] for piece in self._newest], np.int64)
        return np.stack([starts, sizes, shares], axis=1)

    def arrival_s(self, numbers: Integers) -> Floats:
        """By this micro-batch, else by earlier ones; numbers of nobody's tuples are those of the piece before."""
        if not len(self._now):
            return self._before.arrival_s(numbers)[0]
        found, is_inside = self._now.arrival_s(numbers)
        if len(self._before) and not is_inside.all():
            earlier, was_inside = self._before.arrival_s(numbers)
            found = np.where(~is_inside & was_inside, earlier, found)
        return found

    def __len__(self) -> int:
        return len(self._now) + len(self._before)
