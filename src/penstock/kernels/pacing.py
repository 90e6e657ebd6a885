"""Stamps that keep a period between tuples."""

from __future__ import annotations

import numba as nb
import numpy as np


@nb.njit(nogil=True, cache=True)
def paced_stamps(stamps, last_s, period_s):  # type: ignore[no-untyped-def]
    """Each stamp, or a period after the tuple before it, whichever is later."""
    paced = np.empty_like(stamps)
    for i in range(stamps.shape[0]):
        last_s = max(stamps[i], last_s + period_s)
        paced[i] = last_s
    return paced
