"""Latency and backlog against the trace's own clock, which goes on while nothing runs."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from penstock.app.connectors import TraceSource
from penstock.measure.observation import Latency, Observation
from penstock.spark.checkpoint import Fixed

_SAMPLES = 2_000


class TraceClock:
    """The schedule of arrivals of an application's one trace, if it has one."""

    def __init__(self, fixed: Fixed) -> None:
        connector = fixed.graph.sources[0].connector
        self._trace = connector.open() if isinstance(connector, TraceSource) else None
        self._started_at_s = fixed.started_at_s

    def completed(self, observation: Observation, first: int) -> Observation:
        """The observation with the latency of its tuples, which begin at offset `first`, and with the backlog."""
        if self._trace is None or self._trace.arrivals is None or not observation.tuples_in:
            return observation
        now_s, stop = time.time() - self._started_at_s, first + observation.tuples_in
        offsets = np.linspace(first, stop - 1, min(_SAMPLES, observation.tuples_in)).astype(np.int64)
        arrival_s = self._trace.arrival_s(offsets)
        assert arrival_s is not None
        late_ms = (now_s - arrival_s) * 1000
        p50, p95, p99 = (float(x) for x in np.percentile(late_ms, [50, 95, 99]))
        arrived = self._trace.arrived_by(now_s)
        backlog = None if arrived is None else max(0, int(arrived) - stop)
        return replace(observation, latency=Latency(p50, p95, p99, float(late_ms.max())), backlog_tuples=backlog)
