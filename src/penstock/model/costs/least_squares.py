"""Least squares: the lowest polynomial that fits some points, with its covariance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.errors import InputError
from penstock.model.costs.resource_function import BAND_QUANTILE, ResourceFunction, Term

FEWEST_RATES = 3
_SAME_RATE = 0.01
_HIGHEST_DEGREE = 3
_NOTHING = 1e-9  # a residual below this share of the values is rounding
_SAME_POINT = 1e-5  # singular values below it: rates that differ by a few tuples of millions are no further points
_GOOD_FIT = 0.01  # of the values: a residual below it needs no higher degree
_LEAST_WEIGHT = 0.2  # of the largest value: below it a relative error counts like an absolute one
# Student's t at 99 %, by degrees of freedom from 1 on.
_STUDENT = (31.821, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764)
Powers = tuple[int, ...]


def student(freedom: int) -> float:
    """Student's t at 99 %; Cornish and Fisher's expansion above ten degrees of freedom."""
    if freedom <= len(_STUDENT):
        return _STUDENT[max(freedom, 1) - 1]
    z = BAND_QUANTILE
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def fit(
    rates: Sequence[Sequence[float]],
    values: Sequence[float],
    *,
    degree: int | None = None,
    through_origin: bool = False,
    relative: bool = False,
    relative_to: Sequence[float] | None = None,
    what: str = "a function",
) -> ResourceFunction:
    """The polynomial of the lowest degree that fits, or of just one `degree`.

    `relative`: relative errors are made small, as far as values are not, since what disturbs a measurement grows with
    it; else absolute ones.  `relative_to`: errors are relative to these numbers instead, where values are what is left
    of larger measurements.

    A higher degree is taken where a residual of more than 1 % of the values is left and its terms are significant at
    98 %.  Coefficients get the covariance that makes the normal band that of Student's t.

    >>> print(fit([[1.0], [2.0], [3.0]], [3.0, 5.0, 7.0]))
    1 + 2 r
    """
    check_points(rates, what)
    x, y = np.asarray(rates, float).reshape(len(values), -1), np.asarray(values, float)
    first, highest = (degree, degree) if degree is not None else (1, _HIGHEST_DEGREE)
    unit = _units(np.asarray(relative_to, float) if relative_to is not None else y if relative else np.ones(len(y)))
    best = None
    for own in range(first, highest + 1):
        powers = _powers(x.shape[1], own, through_origin)
        if best is not None and len(powers) >= len(values):
            break  # it would go through every point, whatever they are
        solved = _solve(x, y, powers, unit)
        if solved is None:
            break
        if best is None or _is_better(solved, best):
            best = solved
        if best[3] <= _GOOD_FIT * max(float(np.abs(y).mean()), 1e-12):
            break
    if best is None:
        needed = len(_powers(x.shape[1], first, through_origin))
        raise InputError(
            f"{what} of {x.shape[1]} input ports needs {needed} points that differ in every port; got {len(values)}"
        )
    powers, coefficients, covariance, noise = best
    terms = tuple(Term(own, float(value)) for own, value in zip(powers, coefficients, strict=True))
    return ResourceFunction(terms, tuple(tuple(map(float, row)) for row in covariance), noise)


def check_points(rates: Sequence[Sequence[float]], what: str) -> None:
    """InputError where there are too few different rates: two points lie on every line.

    Rates that differ by less than a measurement does are one.
    """
    different: list[Sequence[float]] = []
    for own in rates:
        if not any(_is_same(own, other) for other in different):
            different.append(own)
        if len(different) == FEWEST_RATES:
            return
    raise InputError(
        f"{what} needs points at {FEWEST_RATES} different rates at least; got {len(different)}: "
        "any line fits two points; measure at more rates"
    )


def _is_same(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(a - b) <= _SAME_RATE * max(abs(a), abs(b)) for a, b in zip(one, other, strict=True))


_Solved = tuple[tuple[Powers, ...], NDArray[np.float64], NDArray[np.float64], float]


def _powers(ports: int, degree: int, through_origin: bool) -> tuple[Powers, ...]:
    """All products up to a degree, lowest first: 1, r1, r2, r1 r1, r1 r2, ..."""
    every = [own for own in itertools.product(range(degree + 1), repeat=ports) if sum(own) <= degree]
    every.sort(key=lambda own: (sum(own), [-power for power in own]))
    return tuple(own for own in every if sum(own) or not through_origin)


def _units(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the error of each value is counted in, 1 on average."""
    largest = float(np.abs(sizes).max())
    if not largest:
        return np.ones(len(sizes))
    units = np.maximum(np.abs(sizes), _LEAST_WEIGHT * largest)
    return np.asarray(units / units.mean(), float)


def _solve(
    x: NDArray[np.float64], y: NDArray[np.float64], powers: tuple[Powers, ...], unit: NDArray[np.float64]
) -> _Solved | None:
    """Coefficients, covariance and the residual's deviation; None where the points do not determine them."""
    if len(powers) > len(y):
        return None
    basis = np.stack([np.prod(x ** np.asarray(own), axis=1) for own in powers], axis=1) / unit[:, None]
    y = y / unit
    scale = np.abs(basis).max(axis=0)
    scale[scale == 0] = 1.0
    scaled = basis / scale
    if np.linalg.matrix_rank(scaled, tol=_SAME_POINT) < len(powers):
        return None
    coefficients, *_ = np.linalg.lstsq(scaled, y, rcond=None)
    residual = y - scaled @ coefficients
    freedom = len(y) - len(powers)
    noise = math.sqrt(float(residual @ residual) / freedom) if freedom else 0.0
    if noise <= _NOTHING * max(float(np.abs(y).max()), 1e-300):
        noise = 0.0
    widened = noise * student(freedom) / BAND_QUANTILE if freedom else 0.0
    covariance = widened**2 * np.linalg.inv(scaled.T @ scaled) / np.outer(scale, scale)
    return powers, coefficients / scale, covariance, widened


def _is_better(higher: _Solved, lower: _Solved) -> bool:
    """Whether a term of the highest degree is significant, and the residual became clearly smaller."""
    powers, coefficients, covariance, noise = higher
    degree = max(map(sum, powers))
    tops = [i for i, own in enumerate(powers) if sum(own) == degree]
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    significant = any(abs(coefficients[i]) > BAND_QUANTILE * deviations[i] for i in tops)
    return bool(significant and noise < 0.9 * lower[3])
