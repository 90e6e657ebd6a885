"""Latency, arrivals and backlog against the traces' own clock, which goes on while nothing runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from penstock.connectors.trace.source import TraceSource
from penstock.connectors.trace.trace import Trace
from penstock.measure.arrival_kernels import Floats, Integers, arrival_kernels
from penstock.measure.batch.batch_figures import Reports, taken_of, triggers_of
from penstock.measure.latency_sketch import LatencySketch, merged, sketch_of
from penstock.measure.observation import ArrivalObservation, Observation, latency_of
from penstock.measure.task.triggers import UNKNOWN
from penstock.state.checkpoint.checkpoint import Fixed

ArrivalS = Callable[[Integers], Floats]
_MOMENTS_MAX = 512
_MOMENTS_PER_BLOCK_MAX = 64
_INTERVALS_MAX = 128


class TraceClock:
    """The schedules of arrivals of an application's sources, as far as they have one."""

    def __init__(self, fixed: Fixed) -> None:
        self._places = {source.name: place for place, source in enumerate(fixed.graph.sources)}
        self._traces: dict[int, Trace] = {}
        for place, source in enumerate(fixed.graph.sources):
            trace = source.connector.open() if isinstance(source.connector, TraceSource) else None
            if trace is not None and trace.arrivals is not None:
                self._traces[place] = trace
        self._started_at_s = fixed.started_at_s
        self._before_s: float | None = None  # the commit before, on the traces' clock
        self._arrived: dict[int, int] = {}  # by then, of each trace
        self._stops: dict[int, int] = {}  # the offsets up to which each source was taken
        if self._traces:
            arrival_kernels()  # compiled now, and not in the first micro-batch

    def completed(self, observation: Observation, reports: Reports) -> Observation:
        """The observation with the latency of its results, arrivals since the commit before it, and the backlog."""
        assert observation.committed_at_s is not None
        now_s = observation.committed_at_s - self._started_at_s
        before_s = observation.started_at_s - self._started_at_s if self._before_s is None else self._before_s
        earlier = self._arrived or {place: _arrived(trace, before_s) for place, trace in self._traces.items()}
        self._before_s, self._arrived = now_s, {place: _arrived(own, now_s) for place, own in self._traces.items()}
        taken = {self._places[name]: own for name, own in taken_of(reports).items()}
        self._stops |= {place: stop for place, (_, stop) in taken.items()}
        if len(self._traces) < len(self._places):  # other sources tell only what they have given
            arrivals = ArrivalObservation(observation.tuples_in, now_s - before_s, assumed=True)
        else:
            arrivals = self._arrivals(earlier, now_s - before_s)
        if not self._traces:
            return replace(observation, arrivals=arrivals)
        backlogs = [self._backlog(place, stop, now_s) for place, stop in self._stops.items() if place in self._traces]
        return replace(
            observation,
            arrivals=arrivals,
            latency=latency_of(self._latency(triggers_of(reports), taken, now_s)),
            backlog_tuples=sum(tuples for tuples, _ in backlogs),
            backlog_age_s=max((age_s for _, age_s in backlogs), default=0.0),
        )

    def _latency(self, triggers: Integers, taken: dict[int, tuple[int, int]], now_s: float) -> LatencySketch:
        """The sketch of all results whose source is known; what triggered others may be any tuple of the only one."""
        if len(self._places) == 1 and 0 in taken:
            unknown = triggers[:, 0] == UNKNOWN
            first, stop = taken[0]
            triggers[unknown, :3] = 0, first, stop - first
        sketches = []
        for place, stop in self._stops.items():  # what waited may be of tuples that were taken before
            own = triggers[triggers[:, 0] == place, 1:]
            if place in self._traces:
                arrivals = self._traces[place].arrivals
                assert arrivals is not None
                sketches.append(result_latency(own, stop, arrivals.arrival_s, now_s))
        return merged(sketches)

    def _arrivals(self, earlier: Mapping[int, int], period_s: float) -> ArrivalObservation:
        """What has arrived at all traces since the commit before."""
        found = []
        for place, trace in self._traces.items():
            assert trace.arrivals is not None
            arrived = self._arrived[place]
            found.append(arrivals_between(earlier[place], arrived, period_s, trace.arrivals.arrival_s))
        return found[0] if len(found) == 1 else ArrivalObservation(sum(own.tuples for own in found), period_s)

    def _backlog(self, place: int, stop: int, now_s: float) -> tuple[int, float]:
        """Tuples that have arrived and were not taken, and how long the oldest has been waiting."""
        arrived = self._arrived[place]
        if arrived <= stop:
            return 0, 0.0
        moments_s = self._traces[place].arrival_s(np.array([stop]))
        assert moments_s is not None
        return arrived - stop, float(now_s - moments_s[0])


def _arrived(trace: Trace, moment_s: float) -> int:
    arrived = trace.arrived_by(moment_s)
    assert arrived is not None
    return arrived


def result_latency(triggers: Integers, stop: int, arrival_s: ArrivalS, committed_s: float) -> LatencySketch:
    """The sketch of `committed_s` minus the arrivals that triggered results.

    `triggers` are rows of (first offset, offsets, results) of one source, whose offsets end at `stop`.
    """
    if not len(triggers):
        return LatencySketch()
    moments = min(max(_MOMENTS_MAX // len(triggers), 1), _MOMENTS_PER_BLOCK_MAX)
    offsets, shares = np.empty((2, moments * len(triggers)), np.int64)
    arrival_kernels().spread(np.ascontiguousarray(triggers), stop, moments, offsets, shares)
    return sketch_of((committed_s - arrival_s(offsets)) * 1000, shares)


def arrivals_between(first: int, stop: int, period_s: float, arrival_s: ArrivalS) -> ArrivalObservation:
    """The tuples at offsets first..stop, which arrived within a period; the intervals are those of some of them."""
    tuples = max(stop - first, 0)
    if tuples < 2:
        return ArrivalObservation(tuples, period_s)
    kernels, offsets = arrival_kernels(), np.empty(2 * min(_INTERVALS_MAX, tuples - 1), np.int64)
    kernels.neighbours(first, stop - 2, offsets)
    return ArrivalObservation(tuples, period_s, *kernels.intervals(arrival_s(offsets)))
