"""A running application as one line of text, for where there is no terminal."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.watch.figures import clock_text, replicas_text
from penstock.watch.gauges import gauges


def plain_line(observations: Sequence[Observation], configuration: Configuration, elapsed_s: float) -> str:
    """The moment, the main figures, the replicas in force, and dead letters if there were any."""
    if not observations:
        return f"{clock_text(elapsed_s)}  waiting for the first micro-batch"
    figures = [f"{gauge.label} {gauge.figure}" for gauge in gauges(observations, bins=0)]
    letters = sum(o.dead_letters for o in observations)
    told = [f"micro-batches {len(observations):,}", *figures, f"replicas {replicas_text(configuration)}"]
    return "; ".join(
        [
            f"{clock_text(elapsed_s)}  {told[0]}",
            *told[1:],
            *([f"dead letters {letters:,}"] if letters else []),
            *observations[-1].advice,
        ]
    )
