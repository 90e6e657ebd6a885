"""The sums of one control step of a queue plant."""

from __future__ import annotations

import numpy as np

from penstock.control.control_step import ControlStep, ElementLoad
from penstock.control.setting import Setting
from penstock.simulate.plant_shape import Floats, PlantShape


class StepSums:
    """Filled by each micro-batch, read once."""

    def __init__(self, began_at_s: float, arrived_before: int, shape: PlantShape, reconfigured: bool) -> None:
        self.began_at_s = began_at_s
        self._arrived_before = arrived_before
        self._shape = shape
        self._reconfigured = reconfigured
        self._served = self._batches = 0
        self._busy_s: Floats = np.zeros(0)
        self._work_s: Floats = np.zeros(len(shape.shares(began_at_s)))
        self._latest = (began_at_s, arrived_before)
        self._overhead_s = self._took_s = self._own_s = self._run_s = 0.0
        self._latencies_s: list[Floats] = []
        self._weights: list[Floats] = []

    def begins(self, time_s: float, arrived: int) -> None:
        """A micro-batch."""
        self._latest = (time_s, arrived)

    def add(
        self,
        tuples: int,
        latencies_s: Floats,
        busy_s: Floats,
        work_s: Floats,
        overhead_s: float,
        took_s: float,
        own_s: float,
        run_s: float,
    ) -> None:
        """One micro-batch."""
        self._served += tuples
        self._batches += 1
        size = max(len(busy_s), len(self._busy_s))
        self._busy_s = np.pad(self._busy_s, (0, size - len(self._busy_s))) + np.pad(busy_s, (0, size - len(busy_s)))
        self._work_s = self._work_s + work_s
        self._overhead_s += overhead_s
        self._took_s += took_s
        self._own_s += own_s
        self._run_s += run_s
        if tuples:
            self._latencies_s.append(latencies_s)
            self._weights.append(np.full(len(latencies_s), tuples / len(latencies_s)))

    def finished(
        self, step: int, ended_at_s: float, arrived: int, taken: int, setting: Setting, ready: int
    ) -> ControlStep:
        period_s = ended_at_s - self.began_at_s
        busy_s = float(self._busy_s.sum())
        worked = self._served > 0
        mean_s, p95_s = self._latency()
        batches = max(self._batches, 1)
        latest_s = ended_at_s - self._latest[0]
        load = ElementLoad("element", setting.replicas, self._served, self._served, busy_s)
        return ControlStep(
            step=step,
            ended_at_s=ended_at_s,
            period_s=period_s,
            setting=setting,
            arrived_tuples=arrived - self._arrived_before,
            served_tuples=self._served,
            backlog_tuples=arrived - taken,
            busy_ratio=float(self._busy_s.max(initial=0.0)) / period_s,
            micro_batches=self._batches,
            micro_batch_s=self._took_s / batches if self._batches else None,
            overhead_s=self._overhead_s / batches if self._batches else None,
            service_s=busy_s / self._served if worked else None,
            service_cv=self._shape.service_cv,
            arrival_cv=self._shape.arrival_cv,
            latest_tuples_s=(arrived - self._latest[1]) / latest_s if latest_s > 0 else None,
            imbalance=float(self._busy_s.max()) / (busy_s / len(self._busy_s)) if busy_s > 0 else 1.0,
            waiting_ratio=1 - self._own_s / self._run_s if self._run_s > 0 else 0.0,
            latency_mean_s=mean_s,
            latency_p95_s=p95_s,
            load_by_slot=tuple(float(x) for x in self._work_s),
            elements=(load,),
            reconfigured=self._reconfigured,
            replicas_ready=ready,
        )

    def _latency(self) -> tuple[float | None, float | None]:
        """Mean and 95th percentile, weighed by tuples."""
        if not self._latencies_s:
            return None, None
        values, weights = np.concatenate(self._latencies_s), np.concatenate(self._weights)
        order = np.argsort(values)
        reached = np.cumsum(weights[order]) / weights.sum()
        p95 = values[order][min(int(np.searchsorted(reached, 0.95)), len(values) - 1)]
        return float((values * weights).sum() / weights.sum()), float(p95)
