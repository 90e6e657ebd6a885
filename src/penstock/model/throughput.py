"""Throughput of a partitioned element: PROACTIVE, Equations 1-5.  Times in seconds, keys or slots by index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReplicaLoad:
    """One replica: its share of all tuples, the mean time of a tuple on it, and how busy it is (1: all the time)."""

    share: float
    computation_s: float
    utilization: float


@dataclass(frozen=True, slots=True)
class Throughput:
    """What an element can do: its ideal and effective time between results, and the replica that limits it."""

    ideal_service_s: float
    effective_service_s: float
    bottleneck: int
    replicas: tuple[ReplicaLoad, ...]

    @property
    def utilization(self) -> float:
        return self.replicas[self.bottleneck].utilization

    @property
    def capacity_tuples_s(self) -> float:
        return 1.0 / self.ideal_service_s if self.ideal_service_s > 0 else float("inf")


def computation_s(gigacycles: float, frequency_ghz: float) -> float:
    """Mean time of a tuple from its cost in billions of clock cycles: T_k = C_k / f.   Eq. 1"""
    return gigacycles / frequency_ghz


def throughput(
    interarrival_s: float,
    share_by_key: Sequence[float] | Floats,
    computation_s_by_key: Sequence[float] | Floats,
    route: Sequence[int],
    replicas: int,
) -> Throughput:
    """Of an element whose keys are routed so: the busiest replica sets its pace.   Eq. 2-4

    >>> throughput(0.01, [0.5, 0.5], [0.01, 0.03], route=[0, 1], replicas=2).ideal_service_s
    0.015
    """
    shares = np.asarray(share_by_key, np.float64)
    work = shares * np.asarray(computation_s_by_key, np.float64)
    to = np.asarray(route, np.int64)
    share_by_replica = np.bincount(to, shares, minlength=replicas)
    work_by_replica = np.bincount(to, work, minlength=replicas)  # = P_i * T_R^i
    loads = tuple(
        ReplicaLoad(float(share), float(own / share) if share > 0 else 0.0, float(own / interarrival_s))
        for share, own in zip(share_by_replica, work_by_replica, strict=True)
    )
    bottleneck = int(np.argmax(work_by_replica))
    ideal_s = float(work_by_replica[bottleneck])  # T_S^id = T_R^b * sum of p_k of replica b
    return Throughput(ideal_s, max(interarrival_s, ideal_s), bottleneck, loads)


def balanced_service_s(computation_s: float, replicas: int, imbalance: float = 1.0) -> float:
    """Ideal time between results of `replicas`: T / n, times busiest over mean load.   Eq. 5"""
    return computation_s * imbalance / replicas
