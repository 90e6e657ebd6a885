"""A straight line through points, by the relative error, without those that are far off."""

from __future__ import annotations

from typing import Any

import numpy as np

_ROUNDS, _FAR = 4, 4.0  # times the median deviation
_LEAST_SPREAD = 0.05  # of the points, for a line that does not go through the origin


def fitted_line(xs: Any, ys: Any) -> tuple[float, float]:
    """(a, b) of y = a + b x, both at least 0; a is 0 where the xs hardly differ."""
    xs, ys = np.asarray(xs, np.float64), np.asarray(ys, np.float64)
    keep = np.ones(len(xs), bool)
    a = b = 0.0
    for _ in range(_ROUNDS):
        a, b = _weighted(xs[keep], ys[keep])
        far = np.abs(ys - a - b * xs) / np.maximum(a + b * xs, 1e-12)
        middle = float(np.median(far[keep]))
        within = far <= max(_FAR * middle, 1e-9)
        if within.sum() < len(xs) / 2 or (within == keep).all():
            break
        keep = within
    return a, b


def _weighted(xs: Any, ys: Any) -> tuple[float, float]:
    """Least squares of (y - a - b x) / (scale of y)."""
    mean = float(xs.mean())
    if mean <= 0:
        return float(np.median(ys)), 0.0
    if float(xs.std()) < _LEAST_SPREAD * mean:
        return 0.0, float(np.median(ys / np.maximum(xs, 1e-12)))
    weights = 1.0 / np.maximum(ys, 0.1 * float(ys.mean()) + 1e-12)
    table = np.stack([weights, weights * xs], axis=1)
    a, b = np.linalg.lstsq(table, weights * ys, rcond=None)[0]
    if b < 0:
        return float(np.median(ys)), 0.0
    if a < 0:
        return 0.0, float((weights**2 * xs * ys).sum() / (weights**2 * xs**2).sum())
    return float(a), float(b)
