"""Kernels that reduce each list of a column to one value; nulls among the elements are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.kernels.text import scalars

_options: dict[str, Any] = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}

SUM, LEAST, GREATEST = 0, 1, 2


@njit(**_options)
def reduce_lists(offsets, values, valid, how):  # type: ignore[no-untyped-def]
    """(result, whether there was any element) of each list, from left to right; int64 or float64 values."""
    rows = len(offsets) - 1
    results, found = np.zeros(rows, values.dtype), np.zeros(rows, np.bool_)
    for row in range(rows):
        for place in range(offsets[row], offsets[row + 1]):
            if not valid[place]:
                continue
            value = values[place]
            if not found[row]:
                results[row] = value
                found[row] = True
            elif how == SUM:
                results[row] += value
            elif how == LEAST:
                results[row] = scalars.least(results[row], value)
            else:
                results[row] = scalars.greatest(results[row], value)
    return results, found
