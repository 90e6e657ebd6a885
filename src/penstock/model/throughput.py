"""Throughput of a partitioned element: PROACTIVE, Equations 1-5.  Times in seconds, slots by index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Route = Sequence[int] | npt.NDArray[np.int64]


def computation_s(gigacycles: float, frequency_ghz: float) -> float:
    """Mean time of a tuple from its cost in billions of clock cycles: T_k = C_k / f.   Eq. 1"""
    return gigacycles / frequency_ghz


def work_by_replica(work_by_slot: Sequence[float] | Floats, route: Route, replicas: int) -> Floats:
    """The work of each replica, that of its slots together: P_i * T_i where slots have theirs as p_k * T_k.   Eq. 2-3

    >>> work_by_replica([0.2, 0.3, 0.5], route=[0, 0, 1], replicas=3).tolist()
    [0.5, 0.5, 0.0]
    """
    slots, to = np.asarray(work_by_slot, np.float64), np.asarray(route, np.int64)
    return np.bincount(to, slots, minlength=replicas).astype(np.float64)


def ideal_service_s(computation_s: float, replicas: int, imbalance: float = 1.0, heaviest_share: float = 0.0) -> float:
    """Time between results when the busiest replica, the bottleneck, never waits: T / n where all is even.   Eq. 4-5

    `imbalance`: busiest over mean replica.  The heaviest slot stays on one replica, however many there are: its share
    of the work is the least that the busiest one has.

    >>> ideal_service_s(0.02, 4), ideal_service_s(0.02, 4, heaviest_share=0.5)
    (0.005, 0.01)
    """
    share = max(imbalance / replicas, heaviest_share) if replicas > 1 else 1.0
    return computation_s * min(share, 1.0)
