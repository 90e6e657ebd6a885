"""Observations on one time line: when each micro-batch was committed, and what came and went since the one before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.measure.observation import Latency, Observation

_ROUNDING_S = 1e-9


@dataclass(frozen=True, slots=True)
class Step:
    """One micro-batch: its commit, in seconds since the first one began, and the rates since the commit before it.

    `arrival_tuples_s` is None where the sources have no schedule, and for the first micro-batch.
    """

    batch: int
    committed_s: float
    gap_s: float
    micro_batch_s: float
    in_tuples_s: float
    out_tuples_s: float
    arrival_tuples_s: float | None
    backlog_tuples: int | None
    latency: Latency | None
    tuples_by_replica: Mapping[str, tuple[int, ...]]
    slots_rebuilt: int


def committed_at_s(observation: Observation) -> float:
    """The moment at which a micro-batch's results counted."""
    if observation.committed_at_s is not None:
        return observation.committed_at_s
    return observation.started_at_s + observation.micro_batch_s


def timeline_of(observations: Sequence[Observation], begin_s: float | None = None) -> tuple[Step, ...]:
    """One step per Observation; `begin_s` (seconds since the epoch) is when tuples began to arrive.

    Where it is not given, the line begins with the first micro-batch of these.
    """
    if not observations:
        return ()
    zero_s = observations[0].started_at_s if begin_s is None else begin_s
    steps, previous_s, backlog = [], zero_s, None if begin_s is None else 0
    for observation in observations:
        steps.append(_step(observation, zero_s, previous_s, backlog))
        previous_s, backlog = committed_at_s(observation), observation.backlog_tuples
    return tuple(steps)


def _step(observation: Observation, zero_s: float, previous_s: float, backlog_before: int | None) -> Step:
    commit_s = committed_at_s(observation)
    gap_s = max(commit_s - previous_s, 1e-6)
    return Step(
        observation.batch,
        commit_s - zero_s,
        gap_s,
        observation.micro_batch_s,
        observation.tuples_in / gap_s,
        observation.tuples_out / gap_s,
        _arrivals(observation, backlog_before, gap_s),
        observation.backlog_tuples,
        observation.latency,
        {name: tuple(r.tuples_in for r in own) for name, own in observation.replicas_by_element.items()},
        observation.slots_rebuilt,
    )


def _arrivals(observation: Observation, backlog_before: int | None, gap_s: float) -> float | None:
    """What arrived since the commit before: what was taken, and by how much the backlog grew."""
    if backlog_before is None or observation.backlog_tuples is None:
        return None
    return max(observation.tuples_in + observation.backlog_tuples - backlog_before, 0) / gap_s


def rates_by_bin(steps: Sequence[Step], edges_s: Sequence[float]) -> list[float | None]:
    """Mean tuples/s taken between neighbouring edges, each micro-batch spread over its own gap; None beyond both ends.

    >>> one = Step(0, 2.0, 2.0, 2.0, 10.0, 5.0, None, None, None, {}, 0)
    >>> rates_by_bin([one], [0.0, 1.0, 2.0, 3.0])
    [10.0, 10.0, None]
    """
    if not steps:
        return [None] * (len(edges_s) - 1)
    moments = np.array([steps[0].committed_s - steps[0].gap_s, *(s.committed_s for s in steps)])
    sums = np.concatenate([[0.0], np.cumsum([s.in_tuples_s * s.gap_s for s in steps])])
    edges = np.clip(edges_s, moments[0], moments[-1])
    tuples, widths_s = np.diff(np.interp(edges, moments, sums)), np.diff(edges)
    return [float(t / w) if w > _ROUNDING_S else None for t, w in zip(tuples, widths_s, strict=True)]


def highest_by_bin(
    steps: Sequence[Step], edges_s: Sequence[float], value: Callable[[Step], float | None]
) -> list[float | None]:
    """The highest value of the micro-batches committed between neighbouring edges; where none was, the one before."""
    highest: list[float | None] = [None] * (len(edges_s) - 1)
    for step in steps:
        own, place = value(step), int(np.searchsorted(edges_s, step.committed_s, side="left")) - 1
        if own is not None and 0 <= place < len(highest):
            highest[place] = max(highest[place] or 0.0, own)
    for place in range(1, len(highest)):
        highest[place] = highest[place - 1] if highest[place] is None else highest[place]
    return highest
