"""The trading application in plain Python: windows as lists, means by interval, least squares in exact fractions."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Points = list[tuple[Fraction, Fraction]]


def estimates(
    rows: Sequence[dict[str, Any]], window: int, every: int, degree: int, resolution_us: int, horizon_us: int
) -> list[dict[str, Any]]:
    """What each firing gives, in order."""
    held: dict[str, deque[dict[str, Any]]] = defaultdict(lambda: deque(maxlen=window))
    seen: dict[str, int] = defaultdict(int)
    results = []
    for row in rows:
        held[row["symbol"]].append(row)
        seen[row["symbol"]] += 1
        if seen[row["symbol"]] % every == 0:
            own = list(held[row["symbol"]])
            results.append(estimate(own, every, degree, resolution_us, horizon_us))
    return results


def estimate(
    quotes: list[dict[str, Any]], every: int, degree: int, resolution_us: int, horizon_us: int
) -> dict[str, Any]:
    last, newest = quotes[-1], [quote["price"] for quote in quotes[-every:]]
    points = averaged(quotes, resolution_us)
    coefficients = least_squares(points, min(degree, len(points) - 1))
    horizon = Fraction(horizon_us, 1_000_000)
    errors = [price - value_at(coefficients, time) for time, price in points]
    return {
        "symbol": last["symbol"],
        "time_us": last["time_us"],
        "open": newest[0],
        "high": max(newest),
        "low": min(newest),
        "close": newest[-1],
        "points": len(points),
        "forecast": float(value_at(coefficients, horizon)),
        "error": math.sqrt(sum(error * error for error in errors) / len(points)),
        "coefficients": [float(c) for c in coefficients] + [0.0] * (degree + 1 - len(coefficients)),
    }


def averaged(quotes: Sequence[dict[str, Any]], resolution_us: int) -> Points:
    """Seconds since the last quote and price, averaged by resolution interval."""
    last_us = quotes[-1]["time_us"]
    by_interval: dict[int, Points] = defaultdict(list)
    for quote in quotes:
        seconds = Fraction(quote["time_us"] - last_us, 1_000_000)
        by_interval[quote["time_us"] // resolution_us].append((seconds, Fraction(quote["price"])))
    return [
        (sum(t for t, _ in own) / Fraction(len(own)), sum(p for _, p in own) / Fraction(len(own)))
        for _, own in sorted(by_interval.items())
    ]


def least_squares(points: Points, degree: int) -> list[Fraction]:
    """The normal equations, solved without rounding."""
    size = degree + 1
    rows = [
        [sum((t ** (i + j) for t, _ in points), Fraction(0)) for j in range(size)]
        + [sum((p * t**i for t, p in points), Fraction(0))]
        for i in range(size)
    ]
    for i in range(size):
        pivot = next(r for r in range(i, size) if rows[r][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(size):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def value_at(coefficients: Sequence[Fraction], time: Fraction) -> Fraction:
    return sum((c * time**k for k, c in enumerate(coefficients)), Fraction(0))
