"""Latency, arrivals and backlog against the trace's own clock, which goes on while nothing runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.app.connectors import TraceSource
from penstock.generate.arrivals import Arrivals
from penstock.generate.trace import Trace
from penstock.measure.batch_figures import Reports, results_of
from penstock.measure.observation import ArrivalObservation, Observation, latency_of
from penstock.measure.result_latency import arrivals_between, result_latency
from penstock.spark.checkpoint import Fixed


class TraceClock:
    """The schedule of arrivals of an application's one trace, if it has one."""

    def __init__(self, fixed: Fixed) -> None:
        sources = fixed.graph.sources
        connector = sources[0].connector if len(sources) == 1 else None
        self._trace: Trace | None = connector.open() if isinstance(connector, TraceSource) else None
        self._started_at_s = fixed.started_at_s
        self._before_s: float | None = None  # the commit before, on the trace's clock

    def completed(self, observation: Observation, first: int, reports: Reports) -> Observation:
        """The observation with the latency of its results, arrivals since the commit before it, and the backlog.

        The micro-batch took the source's tuples from offset `first` on.
        """
        assert observation.committed_at_s is not None
        now_s = observation.committed_at_s - self._started_at_s
        before_s = observation.started_at_s - self._started_at_s if self._before_s is None else self._before_s
        self._before_s = now_s
        if self._trace is None or self._trace.arrivals is None:
            return replace(observation, arrivals=ArrivalObservation(observation.tuples_in, now_s - before_s))
        arrivals, trace, stop = self._trace.arrivals, self._trace, first + observation.tuples_in
        arrived, arrived_before = trace.arrived_by(now_s), trace.arrived_by(before_s)
        assert arrived is not None
        assert arrived_before is not None
        starts, tuples = results_of(reports)
        block_rows = max((r.block_rows for own in reports.values() for r in own), default=1)
        sketch = result_latency(starts, tuples, max(block_rows, 1), stop, arrivals.arrival_s, now_s)
        return replace(
            observation,
            latency=latency_of(sketch),
            arrivals=arrivals_between(arrived_before, arrived, now_s - before_s, arrivals.arrival_s),
            backlog_tuples=max(0, arrived - stop),
            backlog_age_s=_age_s(arrivals, stop, now_s) if arrived > stop else 0.0,
        )


def _age_s(arrivals: Arrivals, offset: int, now_s: float) -> float:
    """How long a tuple has been waiting."""
    return float(now_s - arrivals.arrival_s(np.array([offset]))[0])
