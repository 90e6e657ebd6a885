"""The arrivals of a source as a schedule that micro-batches take tuples from."""

from __future__ import annotations

import numpy as np

from penstock.connectors.trace.arrivals import Arrivals, counted_arrivals
from penstock.simulate.events.draws import Draws, arrival_moments
from penstock.simulate.events.kernel.random_draws import stream_seed
from penstock.simulate.events.model import Source

_INTERVAL_S = 0.05  # Poisson arrivals are counted in such intervals: a micro-batch takes longer


def arrivals_of(source: Source, end_s: float, seed: int) -> Arrivals:
    """How many tuples have come by each moment."""
    draws = source.arrivals
    generator = np.random.default_rng(stream_seed(seed, source.name, "arrivals"))
    if draws.kind == "given":
        moments_s = arrival_moments(draws)
        return _of_blocks(np.asarray(moments_s), source.block_tuples)
    if draws.kind == "trace":
        return counted_arrivals(draws.edges_s, _whole(draws, generator))
    if draws.kind == "constant":
        return Arrivals(np.array([0.0, 1.0]), np.array([0.0, draws.value]), repeats=True)
    edges_s = np.arange(0.0, end_s + 2 * _INTERVAL_S, _INTERVAL_S)
    blocks = generator.poisson(draws.value * _INTERVAL_S / source.block_tuples, len(edges_s) - 1)
    return counted_arrivals(edges_s, blocks * source.block_tuples)


def is_random(draws: Draws) -> bool:
    return draws.kind == "poisson" or (draws.kind == "trace" and bool(draws.value))


def _whole(draws: Draws, generator: np.random.Generator) -> np.ndarray:
    """Whole tuples by interval: as counted, or a Poisson number of them."""
    return generator.poisson(draws.values) if draws.value else np.round(draws.values).astype(np.int64)


def _of_blocks(moments_s: np.ndarray, tuples: int) -> Arrivals:
    """A step at each moment, as steep as a nanosecond."""
    edges_s, counts = [0.0], [0.0]
    for number, moment in enumerate(moments_s):
        begin_s = max(float(moment), edges_s[-1] + 1e-9)
        edges_s += [begin_s, begin_s + 1e-9]
        counts += [float(number * tuples), float((number + 1) * tuples)]
    return Arrivals(np.array(edges_s), np.array(counts), repeats=False)
