"""Figures over the Observations of consecutive micro-batches."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt

from penstock.connectors.trace.trace import Trace
from penstock.measure.observation import Observation

Floats = npt.NDArray[np.float64]
_SAMPLES_A_BATCH = 500


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several measurements, the lowest and the highest."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(median(values), min(values), max(values))

    def to_json(self) -> dict[str, float]:
        return {"median": round(self.median, 3), "lowest": round(self.lowest, 3), "highest": round(self.highest, 3)}


@dataclass(frozen=True, slots=True)
class Throughput:
    """Tuples over the time from one commit to a later one, and the rates of its pieces."""

    tuples: int
    seconds: float
    batches: int
    pieces_tuples_s: tuple[float, ...]

    @property
    def tuples_s(self) -> float:
        return self.tuples / self.seconds if self.seconds > 0 else 0.0

    @property
    def spread(self) -> Spread:
        return Spread.of(self.pieces_tuples_s or (self.tuples_s,))


def committed_at_s(observation: Observation) -> float:
    """When a micro-batch was committed, by the wall clock."""
    if observation.committed_at_s is not None:
        return observation.committed_at_s
    return observation.started_at_s + observation.micro_batch_s


def measuring_ratio(observations: Sequence[Observation]) -> float | None:
    """CPU of measuring to all CPU; None where Observations do not tell."""
    measured = [o.cpu for o in observations if o.cpu is not None]
    total_s = sum(cpu.total_s for cpu in measured)
    return sum(cpu.measuring_s for cpu in measured) / total_s if total_s > 0 else None


def throughput(observations: Sequence[Observation], pieces: int = 6) -> Throughput:
    """Tuples from the commit of the first batch to that of the last: what Spark does between batches counts."""
    if len(observations) < 2:
        return Throughput(0, 0.0, 0, ())
    edges = sorted({round(i * (len(observations) - 1) / pieces) for i in range(pieces + 1)})
    rates = [_rate(observations[a : b + 1]) for a, b in itertools.pairwise(edges)]
    seconds = committed_at_s(observations[-1]) - committed_at_s(observations[0])
    tuples = sum(o.tuples_in for o in observations[1:])
    return Throughput(tuples, seconds, len(observations) - 1, tuple(rates))


def _rate(observations: Sequence[Observation]) -> float:
    seconds = committed_at_s(observations[-1]) - committed_at_s(observations[0])
    return sum(o.tuples_in for o in observations[1:]) / max(seconds, 1e-9)


@dataclass(frozen=True, slots=True)
class LateResults:
    """Commit minus scheduled arrival of tuples, each sample standing for as many tuples as its weight says."""

    ms: Floats
    weights: Floats

    def quantile_ms(self, share: float) -> float:
        """The latency that a share of all tuples stays within."""
        order = np.argsort(self.ms)
        reached = np.cumsum(self.weights[order])
        return float(self.ms[order][min(np.searchsorted(reached, share * reached[-1]), len(order) - 1)])

    def tuples_over(self, limit_ms: float) -> int:
        return round(float(self.weights[self.ms > limit_ms].sum()))


def late_results(observations: Sequence[Observation], first: int, trace: Trace, clock_began_s: float) -> LateResults:
    """Latency of the tuples of some batches, the first of which begins at offset `first`.

    `clock_began_s` is when the trace's clock began, by the wall clock.
    """
    ms, weights = [], []
    for observation in observations:
        stop = first + observation.tuples_in
        offsets = np.linspace(first, stop - 1, min(_SAMPLES_A_BATCH, observation.tuples_in)).astype(np.int64)
        if len(offsets):
            arrival_s = trace.arrival_s(offsets)
            assert arrival_s is not None, "an unbounded trace has no schedule"
            ms.append((committed_at_s(observation) - clock_began_s - arrival_s) * 1000)
            weights.append(np.full(len(offsets), observation.tuples_in / len(offsets)))
        first = stop
    return LateResults(np.concatenate(ms), np.concatenate(weights))


def gaps_ms(observations: Sequence[Observation]) -> list[float]:
    ends = [committed_at_s(o) for o in observations]
    return [(later - earlier) * 1000 for earlier, later in itertools.pairwise(ends)]
