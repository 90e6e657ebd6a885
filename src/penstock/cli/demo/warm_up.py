"""Before the demonstration: Spark's JVM, the workers and the kernels get warm, and show what this machine can do."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from penstock.app.application import Application
from penstock.cli.demo.scratch_checkpoint import scratch_checkpoint
from penstock.cli.demo.stages import FIRST, STAGES, staged

if TYPE_CHECKING:
    from penstock.spark.driver.handle import Handle

    Start = Callable[[Application, Path], Handle]  # an application with a checkpoint, in the session that is open

_LEAST_BATCHES = 3
# The opening rush of a trading day is nearly four times its mean; half as much again is left for noise.
_CAPACITY_PER_RATE = 6.0
_LOWEST_TUPLES_S, _HIGHEST_TUPLES_S = 20_000, 1_500_000


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How many micro-batches it takes, the first of them on all replicas, and how many of the last are measured.

    After `most_s` the least number of batches is enough.
    """

    micro_batch_tuples: int = 2_000_000
    batches: int = 12
    wide_batches: int = 4
    measured_batches: int = 5
    most_s: float = 30.0


QUICK = WarmUp(500_000, batches=6, wide_batches=2, measured_batches=3, most_s=10.0)


def capacity_tuples_s(start: Start, screen: Console, effort: WarmUp) -> float:
    """What the application sustains here when tuples are there as fast as they are taken."""
    from penstock import sinks, sources
    from penstock.cli.demo.vwap import vwap_per_ticker
    from penstock.watch.terminal.live_console import interrupts_noted
    from penstock.watch.timeline import timeline_of

    app = vwap_per_ticker(source=sources.trace(rate="unbounded"), sink=sinks.discard())
    with scratch_checkpoint() as checkpoint, interrupts_noted() as interrupted:
        handle = start(app, checkpoint)
        try:
            # All workers that any stage needs are forked first.
            first = replace(handle.configuration, micro_batch_tuples=effort.micro_batch_tuples)
            handle.apply(staged(first, STAGES[0]))
            deadline_s, seen = time.monotonic() + effort.most_s, 0
            while not interrupted.is_set() and seen < (
                effort.batches if time.monotonic() < deadline_s else _LEAST_BATCHES
            ):
                handle.wait(0.05)
                handle.observe()
                seen = len(handle.result.observations)
                if seen >= effort.wide_batches:
                    handle.apply(staged(first, FIRST))
            if interrupted.is_set():
                screen.print("stopping ...")
        finally:
            observations = handle.stop().observations
    if interrupted.is_set():
        raise KeyboardInterrupt
    steps = timeline_of(observations)[-effort.measured_batches :]
    return statistics.median(step.in_tuples_s for step in steps) if steps else 0.0


def rate_for(capacity: float) -> float:
    """The mean rate of a trading day that a machine of this capacity takes without falling behind, in two digits.

    >>> rate_for(5_870_000.0), rate_for(40_000_000.0)
    (970000.0, 1500000.0)
    """
    wanted = min(max(capacity / _CAPACITY_PER_RATE, _LOWEST_TUPLES_S), _HIGHEST_TUPLES_S)
    unit = 10 ** (math.floor(math.log10(wanted)) - 1)
    return float(wanted // unit * unit)
