"""Autoregression on the logarithm of the last values, fitted by recursive least squares that forget."""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_CONSTANT = 0.05
_FURTHEST = 3.0  # a forecast stays within e^3 of the last value


@dataclass(frozen=True, slots=True, eq=False)
class Autoregressive:
    """Changes of the logarithm from the last `order` changes; ratios, not differences, are what bursts repeat."""

    order: int = 4
    forgetting: float = 0.995
    weights: Floats = field(default_factory=lambda: np.zeros(0))
    spread: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # inverse of the weighted squares
    recent: tuple[float, ...] = ()

    def learn(self, value: float) -> Autoregressive:
        logarithm = math.log1p(value)
        recent = (*self.recent, logarithm)[-(self.order + 2) :]
        if len(recent) < self.order + 2:
            return replace(self, recent=recent)
        if not len(self.weights):
            size = self.order + 1
            return replace(self, recent=recent, weights=np.zeros(size), spread=np.eye(size) * 10.0)
        changes = np.diff(recent)
        inputs = _inputs(changes[:-1])
        gain = self.spread @ inputs
        gain /= self.forgetting + inputs @ gain
        error = changes[-1] - self.weights @ inputs
        spread = (self.spread - np.outer(gain, inputs @ self.spread)) / self.forgetting
        trace = float(np.trace(spread))
        if trace > 1e4:  # a series that stands still says nothing new: forgetting must not blow the spread up
            spread *= 1e4 / trace
        return replace(self, recent=recent, weights=self.weights + gain * error, spread=spread)

    def forecast(self, steps: int) -> tuple[float, ...]:
        if not self.recent:
            return (0.0,) * steps
        last = self.recent[-1]
        if not len(self.weights):
            return (math.expm1(last),) * steps
        *weights, constant = self.weights.tolist()  # plain numbers: arrays this small cost more than their arithmetic
        known = self.recent[-(self.order + 1) :]
        changes = [_bounded(new - old) for old, new in itertools.pairwise(known)]
        values, total = [], 0.0
        for _ in range(steps):
            change = sum(map(operator.mul, weights, changes), constant * _CONSTANT)
            total = min(max(total + change, -_FURTHEST), _FURTHEST)
            values.append(max(math.expm1(last + total), 0.0))
            changes = [*changes[1:], _bounded(change)]
        return tuple(values)


def _inputs(changes: Floats) -> Floats:
    """The changes, bounded, and a constant."""
    return np.append(np.clip(changes, -1.0, 1.0), _CONSTANT)


def _bounded(change: float) -> float:
    return min(max(change, -1.0), 1.0)
