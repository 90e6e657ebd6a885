"""How kernels are compiled: as functions of their own, or into those that call them.

What every event goes through is compiled into the event loop: called one by one, these functions took a third longer on
a tandem (`python -m benchmarks simulator`).  What is rare stays outside, or the loop would be compiled for minutes.
"""

from __future__ import annotations

from typing import Any

from numba import njit

compiled: Any = njit(cache=True, nogil=True, error_model="numpy")
inlined: Any = njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
