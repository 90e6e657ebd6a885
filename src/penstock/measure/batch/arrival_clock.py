"""Arrivals and backlog against the clock of sources with a schedule, which goes on while nothing runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from penstock.connectors.offsets import offset_source
from penstock.connectors.port import OffsetSource
from penstock.measure.arrival_kernels import Floats, Integers, arrival_kernels
from penstock.measure.batch.batch_figures import Reports, taken_of
from penstock.measure.observation import ArrivalObservation, Observation
from penstock.state.checkpoint.checkpoint import Fixed

ArrivalS = Callable[[Integers], Floats]
_INTERVALS_MAX = 128


class ScheduleClock:
    """The schedules of arrivals of an application's sources, as far as they have one."""

    def __init__(self, fixed: Fixed) -> None:
        self._places = {source.name: place for place, source in enumerate(fixed.graph.sources)}
        self._schedules: dict[int, OffsetSource] = {}
        for place, source in enumerate(fixed.graph.sources):
            opened = offset_source(source, place)
            if opened is not None and opened.has_schedule:
                self._schedules[place] = opened
        self._started_at_s = fixed.started_at_s
        self._before_s: float | None = None  # the commit before, on the schedules' clock
        self._arrived: dict[int, int] = {}  # by then, of each schedule
        self._stops: dict[int, int] = {}  # the offsets up to which each source was taken
        self._waits_s: dict[str, float | None] = {}
        if self._schedules:
            arrival_kernels()  # compiled now, and not in the first micro-batch

    def opened(self, at_s: float) -> None:
        """The stream opened at this moment, and not when the checkpoint was made."""
        self._started_at_s = at_s

    def completed(self, observation: Observation, reports: Reports) -> Observation:
        """The observation with the arrivals since the commit before it, and the backlog."""
        assert observation.committed_at_s is not None
        now_s = observation.committed_at_s - self._started_at_s
        before_s = observation.started_at_s - self._started_at_s if self._before_s is None else self._before_s
        earlier = self._arrived or {place: _arrived(own, before_s) for place, own in self._schedules.items()}
        self._before_s, self._arrived = now_s, {place: _arrived(own, now_s) for place, own in self._schedules.items()}
        taken = {self._places[name]: own for name, own in taken_of(reports).items()}
        self._stops |= {place: stop for place, (_, stop) in taken.items()}
        if len(self._schedules) < len(self._places):  # other sources tell only what they have given
            arrivals = ArrivalObservation(observation.tuples_in, now_s - before_s, assumed=True)
        else:
            arrivals = self._arrivals(earlier, now_s - before_s)
        if not self._schedules:
            return replace(observation, arrivals=arrivals)
        places = {place: stop for place, stop in self._stops.items() if place in self._schedules}
        backlogs = {place: self._backlog(place, stop, now_s) for place, stop in places.items()}
        names = list(self._places)
        self._waits_s = {names[place]: age_s for place, (_, age_s) in backlogs.items()}
        return replace(
            observation,
            arrivals=arrivals,
            backlog_tuples=sum(tuples for tuples, _ in backlogs.values()),
            backlog_age_s=max((age_s for _, age_s in backlogs.values()), default=0.0),
        )

    @property
    def waits_s(self) -> Mapping[str, float | None]:
        """How long tuples of each source with a schedule wait before they are taken: as long as the oldest has."""
        return self._waits_s

    def _arrivals(self, earlier: Mapping[int, int], period_s: float) -> ArrivalObservation:
        """What has arrived at all sources since the commit before."""
        found = [
            arrivals_between(earlier[place], self._arrived[place], period_s, own.arrival_s)
            for place, own in self._schedules.items()
        ]
        return found[0] if len(found) == 1 else ArrivalObservation(sum(own.tuples for own in found), period_s)

    def _backlog(self, place: int, stop: int, now_s: float) -> tuple[int, float]:
        """Tuples that have arrived and were not taken, and how long the oldest has been waiting."""
        arrived = self._arrived[place]
        if arrived <= stop:
            return 0, 0.0
        return arrived - stop, float(now_s - self._schedules[place].arrival_s(np.array([stop]))[0])


def _arrived(source: OffsetSource, moment_s: float) -> int:
    arrived = source.arrived_by(moment_s)
    assert arrived is not None
    return arrived


def arrivals_between(first: int, stop: int, period_s: float, arrival_s: ArrivalS) -> ArrivalObservation:
    """The tuples at offsets first..stop, which arrived within a period; the intervals are those of some of them."""
    tuples = max(stop - first, 0)
    if tuples < 2:
        return ArrivalObservation(tuples, period_s)
    kernels, offsets = arrival_kernels(), np.empty(2 * min(_INTERVALS_MAX, tuples - 1), np.int64)
    kernels.neighbours(first, stop - 2, offsets)
    return ArrivalObservation(tuples, period_s, *kernels.intervals(arrival_s(offsets)))
