"""A whole run in a few figures."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.measure.latency_sketch import merged
from penstock.measure.observation import Latency, Observation, latency_of, latency_over
from penstock.watch.timeline import Step, timeline_of


@dataclass(frozen=True, slots=True)
class Summary:
    """Sums, medians and extremes over all micro-batches; None where nothing of the kind was measured.

    Of a long run `median_gap_s` is that of its newest micro-batches.
    """

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


def summary_of(observations: Sequence[Observation], earlier: Summary | None = None) -> Summary | None:
    """The figures of a run, None where no micro-batch was finished; `earlier` are those of the batches before."""
    steps = timeline_of(observations)
    if not steps:
        return earlier
    own = _summary(observations, steps)
    return own if earlier is None else _joined(earlier, own)


def _summary(observations: Sequence[Observation], steps: Sequence[Step]) -> Summary:
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


def _joined(earlier: Summary, later: Summary) -> Summary:
    backlogs = [own.highest_backlog_tuples for own in (earlier, later) if own.highest_backlog_tuples is not None]
    return Summary(
        earlier.micro_batches + later.micro_batches,
        earlier.seconds + later.seconds,
        earlier.tuples_in + later.tuples_in,
        earlier.tuples_out + later.tuples_out,
        later.median_gap_s,
        max(earlier.longest_gap_s, later.longest_gap_s),
        _joined_latency(earlier.latency, later.latency),
        max(backlogs, default=None),
        earlier.slots_rebuilt + later.slots_rebuilt,
        earlier.dead_letters + later.dead_letters,
    )


def _joined_latency(earlier: Latency | None, later: Latency | None) -> Latency | None:
    sketches = [own.sketch for own in (earlier, later) if own is not None and own.sketch is not None]
    return latency_of(merged(sketches)) if sketches else later or earlier
