"""Arrays on their way into kernels."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


def read_only(values: Array) -> Array:
    """A view as Arrow's memory gives it, so that numba compiles for that kind of array alone."""
    if values.flags.writeable:
        values = values.view()
        values.flags.writeable = False
    return values
