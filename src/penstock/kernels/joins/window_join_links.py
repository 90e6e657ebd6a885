"""The join of two count windows over whole streams: links between tuples of a key, nothing to evict.

Tuples of a port are numbered from 1 on as they come, so the window is the newest numbers.  Each tuple is linked to the
one before it of its key (0: none), in a ring; a key's partners are its newest tuple of the other port and the links
from it, as far as the window reaches.  Rings have room for the windows and one block, so that links last while it is
paired.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from penstock.kernels.snapshot import SnapshotFields

Ints = npt.NDArray[np.int64]
ONE, TWO = np.uint64(1), np.uint64(2)


class LinkedWindows(SnapshotFields):
    """Both windows; pairs come as three rows: trigger, left, right.  Stores are the caller's, as `WindowJoin` says."""

    snapshot_fields = ("_seen", "_dropped", "_newest", "_links", "_met")

    def __init__(self, left_size: int, right_size: int) -> None:
        self._sizes = np.array([left_size, right_size], np.int64)
        self._seen, self._dropped = np.zeros(2, np.int64), np.zeros(2, np.int64)  # dropped: no longer in the store
        self._newest: Ints = np.zeros(0, np.int64)  # by key and port
        self._links: Ints = np.zeros((2, 1), np.int64)
        self._met: Ints = np.empty((4, 1), np.int64)
        self._largest = max(left_size, right_size)
        self._filled = np.zeros(1, np.int64)
        self._pair_capacity = 1_024

    @property
    def state_bytes(self) -> int:
        return self._newest.nbytes + self._links.nbytes

    def store_rows(self, port: int) -> int:
        return int(self._seen[port] - self._dropped[port])

    def process(self, ports: npt.NDArray[np.uint8], keys: npt.NDArray[np.int32], key_count: int) -> Ints:
        """Takes merged tuples and gives the pairs."""
        self._reserve(len(keys), key_count)
        out, state = np.empty(3 * self._pair_capacity, np.int64), (self._met, self._dropped, self._links, self._filled)
        count, done = join_links(ports, keys, self._seen, self._sizes, self._newest, *state, out)
        while done < count:
            out = _enlarged(out)
            done = pair(ports, done, count, *state, out)
        filled = self._filled.item(0)
        self._pair_capacity = max(1_024, 1 << (filled + filled // 8).bit_length())  # sizes that malloc sees again
        return out.reshape(3, -1)[:, :filled]

    def live(self, port: int) -> Ints:
        """The store rows that a port's window holds: the last ones."""
        rows = self.store_rows(port)
        return np.arange(rows - min(self._seen[port], self._sizes[port]), rows)

    def renumber(self, port: int, live: Ints) -> None:
        """Follows the caller, who has cut a port's store down to its live rows."""
        self._dropped[port] = self._seen[port] - len(live)

    def _reserve(self, rows: int, key_count: int) -> None:
        if 2 * key_count > len(self._newest):
            newest = np.zeros(max(2 * key_count, 2 * len(self._newest)), np.int64)
            newest[: len(self._newest)] = self._newest
            self._newest = newest
        if rows >= self._met.shape[1]:
            self._met = np.empty((4, rows + 1), np.int64)
        length = self._links.shape[1]
        if length < self._largest + rows:
            needed = int(np.minimum(self._seen, self._sizes).max()) + rows
            if needed > length:
                self._links = _wider(self._links, self._seen, 1 << (needed - 1).bit_length())


def _wider(links: Ints, seen: Ints, length: int) -> Ints:
    """Longer rings with the same links at their places."""
    longer = np.zeros((2, length), np.int64)
    for port, last in enumerate(seen.tolist()):
        numbers = np.arange(max(0, last - links.shape[1]), last) + 1
        longer[port, numbers & (length - 1)] = links[port, numbers & (links.shape[1] - 1)]
    return longer


def _enlarged(out: Ints) -> Ints:
    longer = np.empty((3, 2 * len(out) // 3), np.int64)
    longer[:, : len(out) // 3] = out.reshape(3, -1)
    return longer.reshape(-1)


@nb.njit(nogil=True, cache=True)
def enter(ports, keys, seen, sizes, newest, links, met):  # type: ignore[no-untyped-def]
    """Links all tuples of a block; gives how many have partners, and in `met` row, number, newest partner and reach.

    Which ones do is not to be foreseen, so there is no branch in the loop: all are written, and those without partners
    written over.  How many tuples each port has had is kept in two sums, since a counter per port would be a chain of
    writes to and reads from memory.  Measured: together half the time of one plain loop.
    """
    length, count = np.uint64(links.shape[1]), np.uint64(0)
    ring, mask = links.reshape(-1), length - ONE
    both, right = seen[0] + seen[1], seen[1]
    for row in range(np.uint64(keys.size)):
        port = np.uint64(ports[row])
        own = TWO * np.uint64(keys[row]) + port
        left = both - right
        number, others = (right, left) if port else (left, right)
        reach, partner = max(others - sizes[ONE - port], 0), newest[own ^ ONE]
        met[0, count], met[1, count], met[2, count], met[3, count] = row, number, partner, reach
        count += np.uint64(partner > reach)
        ring[port * length + (np.uint64(number + 1) & mask)] = newest[own]
        newest[own] = number + 1
        both, right = both + 1, right + np.int64(port)
    seen[0], seen[1] = both - right, right
    return np.int64(count)


@nb.njit(nogil=True, cache=True)
def pair(ports, first, count, met, dropped, links, filled, out):  # type: ignore[no-untyped-def]
    """Pairs the tuples that have partners, from one on; gives the one for which there is no room, else their number."""
    at, room, length = np.uint64(filled[0]), np.uint64(out.size // 3), np.uint64(links.shape[1])
    ring, mask = links.reshape(-1), length - ONE
    for place in range(first, count):
        row, number, partner, reach = met[0, place], met[1, place], met[2, place], met[3, place]
        port = np.uint64(ports[row])
        start, begin = (ONE - port) * length, at
        mine, mine_at, theirs_at = number - dropped[port], (ONE + port) * room, (TWO - port) * room
        while partner > reach:
            if at == room:
                filled[0] = begin
                return place
            out[at], out[mine_at + at], out[theirs_at + at] = row, mine, partner - 1 - dropped[ONE - port]
            at += ONE
            partner = ring[start + (np.uint64(partner) & mask)]
        begin, last = theirs_at + begin, theirs_at + at - ONE
        while begin < last:  # links give the newest partner first
            out[begin], out[last] = out[last], out[begin]
            begin, last = begin + ONE, last - ONE
    filled[0] = at
    return count


@nb.njit(nogil=True, cache=True)
def join_links(ports, keys, seen, sizes, newest, met, dropped, links, filled, out):  # type: ignore[no-untyped-def]
    """Takes a whole block; gives how many tuples have partners, and how many of them found room for their pairs."""
    count = enter(ports, keys, seen, sizes, newest, links, met)
    filled[0] = 0
    return count, pair(ports, 0, count, met, dropped, links, filled, out)
