"""What the driver does for the Observation of a micro-batch, part by part, without Spark: CPU of its thread.

The reports are as those of `vwap_per_ticker` in the demonstration: two elements of two replicas, blocks of 32,768
tuples, 512 slots, a trading day's schedule.  Only the call of the JVM is left out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from penstock import sinks, sources
from penstock.cli.demo.vwap import vwap_per_ticker
from penstock.measure.batch.batch_figures import Moments, Reports
from penstock.measure.batch.cpu_meter import CpuMeter
from penstock.measure.batch.measured_batch import MeasuredBatch
from penstock.measure.observation import Observation, OperatorObservation, PortObservation, ReplicaObservation
from penstock.measure.task.task_report import TaskReport, encode
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.observer import Observer
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.checkpoint import Checkpoint

_BLOCK_ROWS, _BLOCKS, _SLOTS = 32_768, 4, 512
_TASK_TUPLES = _BLOCK_ROWS * _BLOCKS
_RATE_TUPLES_S = 1_000_000.0
_BATCH_S = 0.1
_BEGAN_S = 1_000.0
_COLD_BATCHES = 3
_NOTING, _MAKING = "noting", "observations, latency, journal"
MicrosecondsByPart = dict[str, float]


def driver_cost(folder: Path, batches: int) -> MicrosecondsByPart:
    """CPU of a micro-batch in the driver's thread: medians over so many, whose Observations are made once a second."""
    driver = _Driver(folder)
    for batch in range(_COLD_BATCHES + batches):
        if batch == _COLD_BATCHES:
            driver.begin()
        driver.observe(batch)
    driver.end()
    return {part: median(own) / 1000 if own else 0.0 for part, own in driver.spent_ns.items()}


class _Driver:
    """The driver's side of measuring, as the micro-batches of a query go through it."""

    def __init__(self, folder: Path) -> None:
        trace = sources.trace("trading_day", _RATE_TUPLES_S, speed_up=100, seed=7)
        app = vwap_per_ticker(source=trace, sink=sinks.discard())
        self._configuration = default_configuration(pipeline_of(app.graph), 2, _SLOTS)
        fixed = Checkpoint(folder).fix(app.graph, slots=_SLOTS, now_s=_BEGAN_S, dumps=dumps_for_workers)
        self._now_s = 0.0
        self._observer = Observer(folder, fixed, self._keep, CpuMeter(lambda: None), clock=lambda: self._now_s)
        self._made = 0
        self.begin()

    def begin(self) -> None:
        self.spent_ns: dict[str, list[float]] = {_NOTING: [], _MAKING: []}

    def _keep(self, seen: Sequence[Observation]) -> None:
        self._made = len(seen)

    def observe(self, batch: int) -> None:
        """One micro-batch, from the reports as they come to the line in the journal."""
        reports = task_reports(batch * 2 * _TASK_TUPLES)
        encoded = tuple((name, encode(r.plain)) for name, own in reports.items() for r in own)
        self._now_s = (batch + 1.9) * _BATCH_S
        moments = Moments(*(_BEGAN_S + (batch + share) * _BATCH_S for share in (1.0, 1.1, 1.7, 1.9)))
        start_ns = time.thread_time_ns()
        measured = MeasuredBatch(batch, moments, encoded, "trades", frozenset({"out"}), 2 * _TASK_TUPLES)
        made = self._observer.note(measured, self._configuration)
        spent_ns = time.thread_time_ns() - start_ns
        if made is None:
            self.spent_ns[_NOTING].append(spent_ns)
        else:
            self.spent_ns[_MAKING].append(spent_ns / self._made)

    def end(self) -> None:
        """What was noted last is in the journal, too."""
        self._observer.make()


def task_reports(offset: int) -> Reports:
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
