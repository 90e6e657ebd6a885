"""A straight line through points, by the relative error, whose slope may grow with some factors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

_DEVIATION_ROUNDS, _NEAR = 12, 0.1  # of the median deviation: nearer points weigh as much as these
_LEAST_SPREAD = 0.05  # of the points, for a line that does not go through the origin
_FARTHEST = 0.5  # from the line, as a share of it: points beyond count as if they were there
_VARIANCE_ROUNDS = 6
_LEAST_GROWTH = 0.03  # of the slope, from the least to the most; less is noise


@dataclass(frozen=True, slots=True)
class GrowingLine:
    """y = fixed + (slope + the sum of growth x factor) x."""

    fixed: float
    slope: float
    growth: tuple[float, ...]

    def at(self, xs: Any, factors: Any) -> Any:
        return self.fixed + xs * (self.slope + np.asarray(factors) @ np.asarray(self.growth))


def growing_line(xs: Any, ys: Any, factors: Any) -> GrowingLine:
    """A line whose slope grows with some factors (a column each), all at least 0; no growth by one that hardly varies.

    Points that are far off count no more than others: each is weighed by its distance (least absolute deviations).
    """
    xs, ys, factors = (np.asarray(own, np.float64) for own in (xs, ys, factors))
    columns = [np.ones_like(xs), xs, *(xs * own for own in factors.T)]
    used = [0, 1, *(2 + n for n, own in enumerate(factors.T) if np.ptp(own) > 0)]
    if float(xs.std()) < _LEAST_SPREAD * float(xs.mean()):
        used.remove(0)
    scale = np.maximum(ys, 0.1 * float(ys.mean()) + 1e-12)
    while True:
        found = np.zeros(len(columns))
        found[used] = _least_deviations(np.stack([columns[n] for n in used], 1) / scale[:, None], ys / scale)
        if min(found[used]) < 0 and len(used) > 1:
            used.remove(min(used, key=lambda n: found[n]))
            continue
        least = [n for n in used if n > 1 and found[n] * np.ptp(factors[:, n - 2]) < _LEAST_GROWTH * found[1]]
        if not least:
            return GrowingLine(float(found[0]), max(float(found[1]), 0.0), tuple(found[2:].tolist()))
        used.remove(least[0])


def with_means(line: GrowingLine, xs: Any, ys: Any, factors: Any) -> GrowingLine:
    """The line moved from the medians of the points to their means, of small points as of large ones.

    What tasks take is skewed, so that their mean is above their median, and their sum is what matters.
    """
    xs, ys, factors = (np.asarray(own, np.float64) for own in (xs, ys, factors))
    expected = line.at(xs, factors)
    scale = np.maximum(expected, 0.1 * float(ys.mean()) + 1e-12)
    off = np.clip((ys - expected) / scale, -_FARTHEST, _FARTHEST)
    if float(xs.std()) < _LEAST_SPREAD * float(xs.mean()):
        return replace(line, slope=max(line.slope + float((off * scale).mean() / xs.mean()), 0.0))
    table = np.stack([np.ones_like(xs), xs], 1) / scale[:, None]
    fixed, slope = np.linalg.lstsq(table, off, rcond=None)[0].tolist()
    return replace(line, fixed=max(line.fixed + fixed, 0.0), slope=max(line.slope + slope, 0.0))


def noise_by_size(xs: Any, logs: Any) -> tuple[float, float]:
    """Deviations a and c of points whose logarithms are off by chance: variances are a^2 + c^2 / x."""
    table = np.stack([np.ones_like(xs), 1.0 / np.maximum(xs, 1.0)], 1)
    squares = np.minimum(np.abs(logs), 1.0) ** 2
    found = np.array([float(squares.mean()), 0.0])
    for _ in range(_VARIANCE_ROUNDS):  # a square varies as its own mean does
        weights = 1.0 / np.maximum(table @ found, 1e-6)
        found = np.linalg.lstsq(table * weights[:, None], squares * weights, rcond=None)[0]
        if found.min() < 0:  # one of the two alone
            alone = [float((squares * weights**2 * own).sum() / (weights**2 * own**2).sum()) for own in table.T]
            found = np.array([0.0, alone[1]]) if found[0] < 0 else np.array([alone[0], 0.0])
    return float(np.sqrt(found[0])), float(np.sqrt(found[1]))


def _least_deviations(table: Any, ys: Any) -> Any:
    """Least squares, again and again, each point weighed by how far off it was."""
    weights = np.ones(len(ys))
    for _ in range(_DEVIATION_ROUNDS):
        found = np.linalg.lstsq(table * weights[:, None], ys * weights, rcond=None)[0]
        off = np.abs(ys - table @ found)
        weights = 1 / np.sqrt(np.maximum(off, max(_NEAR * float(np.median(off)), 1e-9)))
    return found
