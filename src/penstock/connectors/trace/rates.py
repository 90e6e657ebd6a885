"""Rates over time: how busy a stream is along one period, as pieces of constant rate whose mean is 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.connectors.trace.market import Floats, generator

UNBOUNDED = "unbounded"  # no rate at all: tuples are there as fast as they are taken

_STEP_RATIO = 2.0
_SPIKE_RATIO = 5.0
_SPIKE_SHARE = 0.05
_DIURNAL_PIECES = 288
_WALK_PIECES = 3600
_WALK_SPREAD = 0.6
_WALK_RANGE = 4.0
_TRADING_PIECES = 2340


@dataclass(frozen=True, slots=True)
class Shape:
    """A rate's default period (s) and its pieces for a seed: edges from 0 to 1, and one relative rate per piece."""

    period_s: float
    pieces: Callable[[int], tuple[Floats, Floats]]


def constant(seed: int) -> tuple[Floats, Floats]:
    """The same rate for ever."""
    return _even([1.0])


def step(seed: int) -> tuple[Floats, Floats]:
    """Up to twice the rate in the middle of the period, and back at its end."""
    return _even([1.0, _STEP_RATIO])


def spike(seed: int) -> tuple[Floats, Floats]:
    """Five times the usual rate for a twentieth of the period, in its middle."""
    half = _SPIKE_SHARE / 2
    edges = np.array([0.0, 0.5 - half, 0.5 + half, 1.0])
    return edges, _with_mean_one(edges, np.array([1.0, _SPIKE_RATIO, 1.0]))


def diurnal(seed: int) -> tuple[Floats, Floats]:
    """A day from midnight: low at four, a first peak before noon, the highest in the evening."""
    hour = 24.0 * _middles(_DIURNAL_PIECES)
    daily = np.cos(2 * np.pi * (hour - 16.0) / 24.0)
    half_daily = np.cos(4 * np.pi * (hour - 20.5) / 24.0)
    return _even(1.0 + 0.55 * daily + 0.2 * half_daily)


def random_walk(seed: int) -> tuple[Floats, Floats]:
    """A geometric random walk that ends where it began, so that periods follow each other without a jump."""
    steps = generator(seed, "random_walk").normal(0.0, 1.0, _WALK_PIECES) / np.sqrt(_WALK_PIECES)
    bridge = np.cumsum(steps - steps.mean())
    return _even(np.clip(np.exp(2 * _WALK_SPREAD * bridge), 1 / _WALK_RANGE, _WALK_RANGE))


def trading_day(seed: int) -> tuple[Floats, Floats]:
    """From 09:30 to 16:00: a rush at the open that fades, a slack noon, a rise to the close, all of it noisy."""
    share = _middles(_TRADING_PIECES)
    calm = 0.55 + 0.9 * (2 * share - 1) ** 2
    rush = 2.2 * np.exp(-share / 0.025) + 1.6 * np.exp(-(1 - share) / 0.02)
    return _even((calm + rush) * _bursts(generator(seed, "trading_day"), _TRADING_PIECES))


SHAPES: dict[str, Shape] = {
    "constant": Shape(1.0, constant),
    "step": Shape(120.0, step),
    "spike": Shape(120.0, spike),
    "diurnal": Shape(86_400.0, diurnal),
    "random_walk": Shape(3600.0, random_walk),
    "trading_day": Shape(6.5 * 3600.0, trading_day),
}


def _bursts(rng: np.random.Generator, pieces: int) -> Floats:
    """Noise around 1 that lasts for some pieces: first-order autoregressive in the logarithm."""
    persistence, spread = 0.9, 0.2
    shocks = rng.normal(0.0, spread * np.sqrt(1 - persistence**2), pieces)
    weights = persistence ** np.arange(64)  # what is older has no weight left
    return np.asarray(np.exp(np.convolve(shocks, weights)[:pieces]))


def _middles(pieces: int) -> Floats:
    return np.asarray((np.arange(pieces) + 0.5) / pieces)


def _even(rates: Floats | list[float]) -> tuple[Floats, Floats]:
    """Pieces of equal length."""
    edges = np.linspace(0.0, 1.0, len(rates) + 1)
    return edges, _with_mean_one(edges, np.asarray(rates, np.float64))


def _with_mean_one(edges: Floats, rates: Floats) -> Floats:
    return np.asarray(rates / (rates * np.diff(edges)).sum())
