"""Floating-point operations that depend on one another, so that none can be left out or done at once."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def burn(rows, flop):  # type: ignore[no-untyped-def]
    """Does `flop` operations for each row and gives the sum of what came out."""
    total = 0.0
    for row in range(rows):
        x = 1.0 + row
        for _ in range(flop // 2):
            x = x * 0.999 + 0.001
        if flop % 2:
            x = x * 0.999
        total += x
    return total
