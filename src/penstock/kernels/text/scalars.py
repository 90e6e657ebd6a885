"""Scalar functions of expressions, compiled: generated kernels call them value by value, `elementwise` by the array.

One definition for both, so that an expression has the same bits whether it runs vectorised or compiled.  All are total:
they give some value for every input, and what must be null is decided apart from them.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from penstock.kernels.text import calendar

_inline: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}

days_of = njit(**_inline)(calendar.days_of)
year = njit(**_inline)(calendar.year_of)
month = njit(**_inline)(calendar.month_of)
day = njit(**_inline)(calendar.day_of)
days_in_month = njit(**_inline)(calendar.days_in_month)

# numba's cache of a caller does not see changes here, so callers' texts carry this mark
MARK = hashlib.sha256(Path(__file__).read_bytes() + Path(calendar.__file__).read_bytes()).hexdigest()[:16]

_LIMIT = 9223372036854775808.0  # 2^63: the first float above every int64


@njit(**_inline)
def exp(x):  # type: ignore[no-untyped-def]
    return math.exp(x)


@njit(**_inline)
def ln(x):  # type: ignore[no-untyped-def]
    return math.log(x)


@njit(**_inline)
def log10(x):  # type: ignore[no-untyped-def]
    return math.log10(x)


@njit(**_inline)
def power(x, y):  # type: ignore[no-untyped-def]
    return math.pow(x, y)


@njit(**_inline)
def sin(x):  # type: ignore[no-untyped-def]
    return math.sin(x)


@njit(**_inline)
def cos(x):  # type: ignore[no-untyped-def]
    return math.cos(x)


@njit(**_inline)
def tan(x):  # type: ignore[no-untyped-def]
    return math.tan(x)


@njit(**_inline)
def atan2(y, x):  # type: ignore[no-untyped-def]
    return math.atan2(y, x)


@njit(**_inline)
def fmod(x, y):  # type: ignore[no-untyped-def]
    return np.fmod(x, y)


@njit(**_inline)
def sign(x):  # type: ignore[no-untyped-def]
    """Of a float; keeps NaN and the sign of zero."""
    return 1.0 if x > 0 else (-1.0 if x < 0 else x)


@njit(**_inline)
def div(x, y):  # type: ignore[no-untyped-def]
    """x / y of integers, cut towards zero; 0 for y = 0; wraps for the smallest integer by -1, which would trap."""
    if y == 0:
        return np.int64(0)
    if y == -1:
        return np.int64(0) - x
    quotient = x // y
    return quotient + 1 if quotient < 0 and quotient * y != x else quotient


@njit(**_inline)
def mod(x, y):  # type: ignore[no-untyped-def]
    """The rest of `div`, with the sign of x."""
    if y == 0 or y == -1:
        return np.int64(0)
    return x - div(x, y) * y


@njit(**_inline)
def round_half_away(x):  # type: ignore[no-untyped-def]
    """The nearest whole number as a float; the distance to the cut value is exact, so halves are."""
    cut = np.trunc(x)
    return cut + math.copysign(1.0, x) if abs(x - cut) >= 0.5 else cut


@njit(**_inline)
def round_digits(x, digits):  # type: ignore[no-untyped-def]
    """x to so many digits after the point, or before it where negative; x itself where the scale overflows."""
    if not math.isfinite(x):
        return x
    scale = 1.0
    for _ in range(min(abs(digits), 400)):
        scale *= 10.0
    scaled = x * scale if digits >= 0 else x / scale
    if scale == np.inf or not math.isfinite(scaled):
        return x if digits >= 0 else math.copysign(0.0, x)
    nearest = round_half_away(scaled)
    return nearest / scale if digits >= 0 else nearest * scale


@njit(**_inline)
def round_whole_digits(x, digits):  # type: ignore[no-untyped-def]
    """An integer to a power of ten, halves away from zero; from 10^19 on everything is 0."""
    if digits >= 0:
        return x
    if digits < -18:
        return np.int64(0)
    scale = np.int64(1)
    for _ in range(-digits):
        scale *= 10
    rest = mod(x, scale)
    low = x - rest
    if abs(rest) >= scale - abs(rest):
        return low + scale if rest > 0 else low - scale
    return low


@njit(**_inline)
def fits_integer(x, low, high):  # type: ignore[no-untyped-def]
    """Whether a float, cut towards zero, lies within low..high (int64)."""
    if not -_LIMIT <= x < _LIMIT:
        return False
    cut = np.int64(x)
    return low <= cut <= high


@njit(**_inline)
def integer(x):  # type: ignore[no-untyped-def]
    """A float cut towards zero; 0 where no int64 holds it."""
    return np.int64(x) if -_LIMIT <= x < _LIMIT else np.int64(0)


@njit(**_inline)
def least(x, y):  # type: ignore[no-untyped-def]
    """The smaller, x where equal, NaN where either is."""
    return y if y < x or y != y else x


@njit(**_inline)
def greatest(x, y):  # type: ignore[no-untyped-def]
    return y if y > x or y != y else x


@njit(**_inline)
def start_of_months(t, months):  # type: ignore[no-untyped-def]
    """The start of the month (1), quarter (3) or year (12) of a moment."""
    first = (month(t) - 1) // months * months + 1
    return days_of(year(t), first, 1) * 86_400_000_000


@njit(**_inline)
def start_of_week(t):  # type: ignore[no-untyped-def]
    """Monday, 0 o'clock; 1970-01-01 was a Thursday."""
    days = t // 86_400_000_000
    return (days - (days + 3) % 7) * 86_400_000_000
