"""A whole run in a few figures."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.measure.observation import Latency, Observation, latency_over
from penstock.watch.timeline import timeline_of


@dataclass(frozen=True, slots=True)
class Summary:
    """Sums, medians and extremes over all micro-batches; None where nothing of the kind was measured."""

    micro_batches: int
    seconds: float
    tuples_in: int
    tuples_out: int
    median_gap_s: float
    longest_gap_s: float
    latency: Latency | None
    highest_backlog_tuples: int | None
    slots_rebuilt: int
    dead_letters: int


def summary_of(observations: Sequence[Observation]) -> Summary | None:
    """The figures of a run, None where no micro-batch was finished."""
    steps = timeline_of(observations)
    if not steps:
        return None
    gaps_s = [step.gap_s for step in steps[1:]] or [steps[0].gap_s]
    return Summary(
        len(steps),
        steps[-1].committed_s,
        sum(o.tuples_in for o in observations),
        sum(o.tuples_out for o in observations),
        statistics.median(gaps_s),
        max(gaps_s),
        latency_over(observations),
        max((o.backlog_tuples for o in observations if o.backlog_tuples is not None), default=None),
        sum(o.slots_rebuilt for o in observations),
        sum(o.dead_letters for o in observations),
    )
