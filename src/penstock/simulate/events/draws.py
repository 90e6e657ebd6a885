"""Arrivals and service times: values that say what is drawn, not yet the draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments import FLAG, PATH, check_arguments, is_number, number, shown
from penstock.connectors.trace.rate_files import read_traces
from penstock.errors import InputError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Made by `twin.poisson`, `exponential`, `constant`, `given` and `trace`.

    >>> constant(0.002)
    twin.constant(0.002)
    """

    kind: str
    value: float = 0.0
    values: Floats = field(default_factory=lambda: np.empty(0))
    edges_s: Floats = field(default_factory=lambda: np.empty(0))

    def __repr__(self) -> str:
        return f"twin.{self.kind}({f'{len(self.values)} values' if len(self.values) else f'{self.value:g}'})"


def poisson(rate_tuples_s: float) -> Draws:
    """Arrivals at random, so many tuples per second on average.

    >>> poisson(900)
    twin.poisson(900)
    """
    check_arguments("twin.poisson", rate_tuples_s=(rate_tuples_s, number(above=0)))
    return Draws("poisson", float(rate_tuples_s))


def exponential(mean_s: float) -> Draws:
    """Service times of a tuple that are exponential; of a block of n tuples one draw times n.

    >>> exponential(0.001)
    twin.exponential(0.001)
    """
    check_arguments("twin.exponential", mean_s=(mean_s, number(above=0)))
    return Draws("exponential", float(mean_s))


def constant(value: float) -> Draws:
    """A service time in seconds per tuple, always the same; of arrivals: tuples per second, evenly spaced.

    >>> constant(0.001)
    twin.constant(0.001)
    """
    check_arguments("twin.constant", value=(value, number(least=0)))
    return Draws("constant", float(value))


def given(values: Sequence[float] | Floats) -> Draws:
    """Service times in seconds per tuple in the order in which blocks begin, from the first again after the last.

    Of arrivals: the moments at which blocks come, in seconds; numbers that do not ascend are the gaps between them.

    >>> given([0.5, 1.5, 2.5])
    twin.given(3 values)
    """
    array = _numbers("values of twin.given", values)
    if len(array) == 0 or array.min() < 0:
        raise InputError(f"values of twin.given is a list of numbers of at least 0; got {shown(values)}")
    return Draws("given", values=array)


def trace(counts: Sequence[float] | Floats | str | Path, interval_s: float = 1.0, *, random: bool = True) -> Draws:
    """Arrivals by counts of tuples: one for each interval, or a CSV file of `timestamp,value` or `seconds,rate`.

    Within an interval they come at random, or evenly.  The stream ends with the trace.

    >>> trace([100, 300, 200], interval_s=10.0)
    twin.trace(3 values)
    """
    check_arguments("twin.trace", interval_s=(interval_s, number(above=0)), random=(random, FLAG))
    if PATH.fits(counts):
        file = read_traces([str(counts)])[0]
        edges_s, amounts = file.edges_s - file.edges_s[0], file.counts
    else:
        amounts = _numbers("counts of twin.trace", counts)
        edges_s = np.arange(len(amounts) + 1) * float(interval_s)
    if len(amounts) and amounts.min() < 0:
        place = int(np.argmin(amounts))
        raise InputError(f"counts of a trace are at least 0; got {amounts[place]:g} in interval {place + 1}")
    if amounts.sum() <= 0:
        raise InputError("counts of twin.trace has some tuples; got none")
    return Draws("trace", float(random), np.asarray(amounts, np.float64), np.asarray(edges_s, np.float64))


def arrival_moments(draws: Draws) -> Floats:
    """When the blocks of given arrivals come."""
    values = draws.values
    return values if bool(np.all(np.diff(values) >= 0)) else np.cumsum(values)


def _numbers(what: str, values: Any) -> Floats:
    if isinstance(values, np.ndarray):
        fits = values.ndim == 1 and values.dtype.kind in "iuf" and bool(np.isfinite(values).all())
    else:
        fits = isinstance(values, list | tuple) and all(map(is_number, values))
    if not fits:
        raise InputError(f"{what} is a list or array of numbers; got {shown(values)}")
    return np.array(values, np.float64)
