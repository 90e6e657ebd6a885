"""Observations for tests of what is shown: a run whose every figure is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from penstock.measure.latency_sketch import sketch_of
from penstock.measure.observation import Latency, Observation, OperatorObservation, ReplicaObservation
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route

BEGIN_S = 1_000.0


def configuration(replicas: int = 2, route: Sequence[int] | None = None) -> Configuration:
    """An application of two elements, trades (2 replicas) and window (keyed, 8 slots)."""
    own = even_route(replicas, 8) if route is None else tuple(route)
    return Configuration((ElementConfiguration("trades", 2), ElementConfiguration("window", replicas, own)))


def micro_batch(batch: int, gap_s: float = 0.5, tuples: int = 1_000_000, replicas: int = 2) -> Observation:
    """Batch n starts n * gap after the begin and takes 4/5 of it; half of its tuples are trades."""
    share = tuples // 2 // replicas
    return Observation(
        batch,
        BEGIN_S + batch * gap_s,
        0.8 * gap_s,
        tuples,
        tuples // 2,
        {
            "trades": tuple(ReplicaObservation(i, tuples // 2, tuples // 4, 0.2 * gap_s, 0.1, 0) for i in range(2)),
            "window": tuple(ReplicaObservation(i, share, share, 0.1 * gap_s, 0.04, 0) for i in range(replicas)),
        },
        latency=latency(200.0 + batch),
        backlog_tuples=10_000,
    )


def latency(ms: float) -> Latency:
    """Six results in ten after `ms`, four after twice as long."""
    return Latency(ms, 2 * ms, 2 * ms, 2 * ms, None, sketch_of(np.array([ms, 2 * ms]), np.array([60, 40])))


def run_of(batches: int) -> list[Observation]:
    return [micro_batch(batch) for batch in range(batches)]


def with_operators(observation: Observation) -> Observation:
    """The same with what each operator of 'trades' did."""
    measured = (OperatorObservation("quotes", 0, 100, 1, 1, 0.01), OperatorObservation("filter", 100, 50, 1, 0, None))
    replicas = tuple(replace(r, operators=measured) for r in observation.replicas_by_element["trades"])
    return replace(observation, replicas_by_element={**observation.replicas_by_element, "trades": replicas})
