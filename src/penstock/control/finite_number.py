"""Whether a value that a user gave is a number to reckon with."""

from __future__ import annotations

import math
from typing import TypeGuard


def is_finite_number(value: object) -> TypeGuard[float]:
    """
    >>> [is_finite_number(value) for value in (2, 0.5, float("nan"), float("inf"), True, "2", None)]
    [True, True, False, False, False, False, False]
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
