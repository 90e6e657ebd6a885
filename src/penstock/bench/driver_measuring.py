"""What the driver does for the Observation of a micro-batch, part by part, without Spark: CPU of its thread.

The reports are as those of `vwap_per_ticker` in the demonstration: two elements of two replicas, blocks of 32,768
tuples, 512 slots, a trading day's schedule.  Only the call of the JVM is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from penstock.app import sinks, sources
from penstock.apps.vwap import vwap_per_ticker
from penstock.control.configuration import default_configuration
from penstock.control.journal import Journal
from penstock.measure.batch_figures import BatchTimer, Reports, observation_of
from penstock.measure.observation import OperatorObservation, PortObservation, ReplicaObservation
from penstock.measure.task_figures import TaskReport, decode
from penstock.plan.pipeline import pipeline_of
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.trace_clock import TraceClock

_BLOCK_ROWS, _BLOCKS, _SLOTS = 32_768, 4, 512
_TASK_TUPLES = _BLOCK_ROWS * _BLOCKS
_RATE_TUPLES_S = 1_000_000.0
_BATCH_S = 2 * _TASK_TUPLES / _RATE_TUPLES_S
_BEGAN_S = 1_000.0
_COLD_BATCHES = 3
MicrosecondsByPart = dict[str, float]


@dataclass(frozen=True, slots=True)
class DriverCost:
    """CPU microseconds of a micro-batch in the driver's thread, by part: medians over many."""

    us_by_part: MicrosecondsByPart

    @property
    def total_us(self) -> float:
        return sum(self.us_by_part.values())


def driver_cost(folder: Path, batches: int, between: Callable[[], object] = lambda: None) -> DriverCost:
    """The cost of so many micro-batches; `between` two of them other work may push this one out of the caches."""
    driver = _Driver(folder)
    seen = []
    for batch in range(_COLD_BATCHES + batches):
        between()
        seen.append(driver.observe(batch))
    warm = seen[_COLD_BATCHES:]
    return DriverCost({part: median(own[part] for own in warm) for part in warm[0]})


class _Driver:
    """The driver's side of measuring, as the micro-batches of a query go through it."""

    def __init__(self, folder: Path) -> None:
        trace = sources.trace("trading_day", _RATE_TUPLES_S, speed_up=100, seed=7)
        app = vwap_per_ticker(source=trace, sink=sinks.discard())
        self._configuration = default_configuration(pipeline_of(app.graph), 2, _SLOTS)
        self._clock = TraceClock(Checkpoint(folder).fix(app.graph, slots=_SLOTS, now_s=_BEGAN_S))
        self._journal = Journal(folder / "journal.jsonl", app.name)

    def observe(self, batch: int) -> MicrosecondsByPart:
        """One micro-batch, from the reports as they come to the line in the journal."""
        encoded = {name: [r.encode() for r in own] for name, own in _reports(batch * 2 * _TASK_TUPLES).items()}
        timer = _timer(batch)
        laps_ns = [time.thread_time_ns()]
        reports = {name: [decode(one) for one in own] for name, own in encoded.items()}
        laps_ns.append(time.thread_time_ns())
        observation = observation_of(timer, reports, "trades", {"out"}, 0)
        laps_ns.append(time.thread_time_ns())
        observation = self._clock.completed(observation, reports)
        laps_ns.append(time.thread_time_ns())
        self._journal.write(observation, self._configuration)
        laps_ns.append(time.thread_time_ns())
        parts = ("reports", "observation", "latency and arrivals", "journal")
        return dict(zip(parts, (np.diff(laps_ns) / 1000).tolist(), strict=True))


def _timer(batch: int) -> BatchTimer:
    moments_s = iter(_BEGAN_S + (batch + share) * _BATCH_S for share in (1.0, 1.1, 1.7, 1.9))
    timer = BatchTimer(batch, lambda: next(moments_s))
    timer.planned()
    timer.ran()
    timer.committed()
    return timer


def _reports(offset: int) -> Reports:
    """The reports of a micro-batch that begins at an offset: half of the tuples are trades, each with a result."""
    trades, window = [], []
    slots = np.random.default_rng(offset).integers(0, _TASK_TUPLES // _SLOTS, _SLOTS)
    for replica in range(2):
        first = offset + replica * _TASK_TUPLES
        own = _replica(replica, ("trades",), "quotes", "trades", _TASK_TUPLES, _TASK_TUPLES // 2)
        trades.append(
            TaskReport(own, {"quotes": (first, first + _TASK_TUPLES)}, slot_tuples_by_element={"window": slots})
        )
        starts = offset + _BLOCK_ROWS * np.arange(2 * _BLOCKS)
        triggers = np.stack([0 * starts, starts, 0 * starts + _BLOCK_ROWS, 0 * starts + _BLOCK_ROWS // 4], axis=1)
        done = _replica(replica, ("window", "vwap", "out"), "trades", "out", _TASK_TUPLES // 2, _TASK_TUPLES // 2)
        window.append(TaskReport(done, triggers=triggers))
    return {"trades": trades, "window": window}


def _replica(
    number: int, operators: tuple[str, ...], taken: str, given: str, tuples_in: int, tuples_out: int
) -> ReplicaObservation:
    timed = tuple(
        OperatorObservation(name, tuples_in, tuples_out, _BLOCKS, _BLOCKS - 1, 0.00123457 * tuples_in, 150_280)
        for name in operators
    )
    return ReplicaObservation(
        number, tuples_in, tuples_out, 0.0240535, 0.0120937, 0, 0.00454086,
        (PortObservation(taken, tuples_in, 30 * tuples_in),), (PortObservation(given, tuples_out, 68 * tuples_out),),
        timed, 1.32111e-9, worker_loop_cpu_s=0.00410958, measuring_cpu_s=0.000341467,
    )  # fmt: skip
