"""The in-process engine as users have it, on one operator that works, seen period by period."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.app.application import Application
from penstock.element.engine import Engine
from penstock.plan.thread_setting import ElasticThreads
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_shapes import FLOP_S

_LOOKS = 10  # at the level, in each period


@dataclass(frozen=True, slots=True)
class EnginePeriod:
    """The level at the period's end, how often it changed within it, and the rate of what came out."""

    level: int
    changes: int
    tuples_s: float


class FedEngine:
    """`ps.Engine` after a model of one operator, `work`, fed by its caller as fast as it takes blocks.

    `threads` is what a user says: a number, or a policy that finds one.
    """

    def __init__(self, model: ElementModel, threads: int | ElasticThreads) -> None:
        (work,) = (operator for operator in model.operators if operator.name == "work")
        app = Application("fed")
        numbers = app.source("numbers", schema={"x": "float64"})
        wait_ms = 1000 * work.wait_s * model.block_tuples
        numbers.load("work", round(work.cpu_s / FLOP_S), wait_ms_per_block=wait_ms).sink("out")
        self._engine = Engine(app.graph, block_rows=model.block_tuples, threads=threads)
        values = pa.array(np.arange(model.block_tuples, dtype=np.float64))
        self._fed = {"numbers": pa.record_batch({"x": values})}
        self._fixed = threads if isinstance(threads, int) else None
        self._level = self.level

    @property
    def level(self) -> int:
        """Threads that call the operator."""
        if self._fixed is not None:
            return self._fixed
        found = self._engine.found
        assert found is not None
        return found.seen.level

    def period(self, period_s: float) -> EnginePeriod:
        """Feeds it for so long, or for a block if that takes longer."""
        begin_s = time.perf_counter()
        rows, changes, looks, passed_s = 0, 0, 1, 0.0
        while passed_s < period_s or not rows:
            given = self._engine.feed(self._fed)["out"]
            rows += sum(batch.num_rows for batch in given)
            passed_s = time.perf_counter() - begin_s
            if passed_s >= looks * period_s / _LOOKS:
                looks, changes = looks + 1, changes + self._has_changed()
        return EnginePeriod(self._level, changes + self._has_changed(), rows / passed_s)

    def __enter__(self) -> FedEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.finish()

    def _has_changed(self) -> bool:
        before, self._level = self._level, self.level
        return self._level != before
