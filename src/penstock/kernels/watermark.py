"""The watermark of several partitions: where it rises as their event times come in."""

from __future__ import annotations

import numba as nb
import numpy as np

# mypy: disable-error-code="no-untyped-def"

TIME, KNOWN, IDLE, ENDED, END = range(5)  # what a tick says of a partition; END is of all sources
NEVER = np.iinfo(np.int64).min
FOREVER = np.iinfo(np.int64).max


@nb.njit(nogil=True, cache=True)
def rises(kinds, owners, times, highest, silence, reached):
    """The ticks at which the lowest of all partitions that are not silent rises, and the values that it rises to.

    `highest` and `silence` (by partition: 0, or IDLE or ENDED) are brought up to date.  Where all are silent, none
    holds the highest back.
    """
    rows = np.empty(kinds.shape[0], np.int64)
    values = np.empty(kinds.shape[0], np.int64)
    found = 0
    for i in range(kinds.shape[0]):
        kind, owner = kinds[i], owners[i]
        if kind == END:
            low = FOREVER
        else:
            if kind == TIME:
                highest[owner] = max(highest[owner], times[i])
                silence[owner] = 0
            elif kind != KNOWN:
                silence[owner] = kind
            low, top, is_held = FOREVER, NEVER, False
            for partition in range(highest.shape[0]):
                top = max(top, highest[partition])
                if silence[partition] == 0:
                    is_held = True
                    low = min(low, highest[partition])
            if not is_held:
                low = top
        if low > reached:
            reached = low
            rows[found], values[found] = i, low
            found += 1
    return rows[:found].copy(), values[:found].copy()
