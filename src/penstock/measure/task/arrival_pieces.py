"""When the tuples that a task read arrived, in a few pieces for each block."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

from penstock.connectors.arriving.arrival import Arrived, LatencyFrom

# (first number, number behind the last, arrival of the first, arrival of the last)
Piece = tuple[int, int, float, float]
# (what the arrivals are, pieces, tuples whose arrival was ahead of the clock)
PlainArrivals = tuple[LatencyFrom, list[Piece], int]
_PIECES_PER_BLOCK = 16
_PIECES_MAX = 2048  # of a task and source; more are put together with their neighbours


class ArrivalPieces:
    """Collects the pieces of a task by source; arrivals ahead of the `clock` count as now."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._words: dict[str, LatencyFrom] = {}
        self._pieces: dict[str, list[Piece]] = {}
        self._ahead: dict[str, int] = {}

    def add(self, source: str, start: int, rows: int, arrived: Arrived) -> None:
        """Tuples with the numbers from `start` on."""
        self._words[source] = arrived.latency_from
        now_s, moments_s = self._clock(), arrived.moments_s
        pieces = self._pieces.setdefault(source, [])
        if isinstance(moments_s, float):
            if moments_s > now_s:
                self._ahead[source] = self._ahead.get(source, 0) + rows
                moments_s = now_s
            _append(pieces, (start, start + rows, moments_s, moments_s))
        elif rows:
            if (moments_s > now_s).any():
                ahead = int(np.count_nonzero(arrived.at(np.arange(rows)) > now_s))
                self._ahead[source] = self._ahead.get(source, 0) + ahead
            pieces += _pieces(start, rows, arrived, now_s)
        if len(pieces) > 2 * _PIECES_MAX:
            self._pieces[source] = _fewer(pieces)

    def plain(self) -> Mapping[str, PlainArrivals]:
        """All of them, for a report."""
        return {
            name: (word, _fewer(self._pieces[name]), self._ahead.get(name, 0)) for name, word in self._words.items()
        }


def _append(pieces: list[Piece], new: Piece) -> None:
    """Adds a piece of one moment; one that goes on where the last one ends, at the same moment, is the same piece."""
    last = pieces[-1] if pieces else None
    if last is not None and last[1] == new[0] and last[2] == last[3] == new[2]:
        pieces[-1] = (last[0], new[1], *last[2:])
    else:
        pieces.append(new)


def _pieces(start: int, rows: int, arrived: Arrived, now_s: float) -> list[Piece]:
    """Pieces of about equal tuples; only moments at their ends are looked at, of which a source may give a sample."""
    edges = np.unique(np.linspace(0, rows, _PIECES_PER_BLOCK + 1).astype(np.int64))
    firsts, lasts = (np.minimum(arrived.at(own), now_s).tolist() for own in (edges[:-1], edges[1:] - 1))
    numbers = (start + edges).tolist()
    return list(zip(numbers[:-1], numbers[1:], firsts, lasts, strict=True))


def _fewer(pieces: list[Piece]) -> list[Piece]:
    """The same where there are few, else neighbours put together."""
    if len(pieces) <= _PIECES_MAX:
        return pieces
    every, ordered = -(-len(pieces) // _PIECES_MAX), sorted(pieces)
    groups = [ordered[i : i + every] for i in range(0, len(ordered), every)]
    return [(own[0][0], own[-1][1], own[0][2], own[-1][3]) for own in groups]
