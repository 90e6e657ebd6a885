"""The latency of results: the commit of a micro-batch minus the arrival of the tuples that triggered them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from penstock.connectors.arriving.arrival import INTAKE, LatencyFrom, least_exact
from penstock.connectors.offsets import offset_source
from penstock.connectors.port import OffsetSource
from penstock.measure.arrival_kernels import Floats, Integers, arrival_kernels
from penstock.measure.batch.arrival_clock import ArrivalS
from penstock.measure.batch.arrival_table import ArrivalTable
from penstock.measure.batch.batch_figures import Reports, taken_of, triggers_of
from penstock.measure.latency_sketch import LatencySketch, merged, sketch_of
from penstock.measure.observation import Observation, latency_of
from penstock.measure.task.triggers import UNKNOWN
from penstock.plan.elements.merged_sources import needs_intake
from penstock.state.checkpoint.checkpoint import Fixed

Waits = Mapping[str, float | None]  # by source, how long tuples wait before they are taken; None: not known
_MOMENTS_MAX = 512
_MOMENTS_PER_BLOCK_MAX = 64
_NO_END = 1 << 62


class LatencyClock:
    """Knows when tuples arrived: by the schedules of sources, and by the reports of tasks for the others."""

    def __init__(self, fixed: Fixed) -> None:
        self._places = {source.name: place for place, source in enumerate(fixed.graph.sources)}
        self._names = [source.name for source in fixed.graph.sources]
        self._schedules: dict[int, OffsetSource] = {}
        for place, source in enumerate(fixed.graph.sources):
            opened = offset_source(source, place)
            if opened is not None and opened.has_schedule and source.arrival is None:
                self._schedules[place] = opened
        self._words: dict[int, LatencyFrom] = dict.fromkeys(self._schedules, "schedule")
        self._is_counted = needs_intake(fixed.graph)
        self._tables: dict[int, ArrivalTable] = {}
        self._started_at_s = fixed.started_at_s
        self._stops: dict[int, int] = {}  # the offsets up to which each source with a schedule was taken
        arrival_kernels()  # compiled now, and not in the first micro-batch

    def opened(self, at_s: float) -> None:
        """The stream opened at this moment, and not when the checkpoint was made."""
        self._started_at_s = at_s

    def completed(self, observation: Observation, reports: Reports, waits_s: Waits) -> Observation:
        """The observation with the latency of its results, and what it counts from."""
        assert observation.committed_at_s is not None
        taken = {self._places[name]: own for name, own in taken_of(reports).items()}
        taken = {place: own for place, own in taken.items() if place in self._schedules}
        self._stops |= {place: stop for place, (_, stop) in taken.items()}
        ahead = self._note(reports)
        sketches = self._sketches(triggers_of(reports), taken, observation.committed_at_s, waits_s)
        intakes = [self._names[place] for place, word in self._words.items() if word == INTAKE]
        return replace(
            observation,
            latency=latency_of(merged(sketches)),
            latency_from=least_exact(self._words.values()),
            latency_excludes_waiting=any(waits_s.get(name) is None for name in intakes),
            ahead_tuples=ahead,
        )

    def _note(self, reports: Reports) -> int:
        """Stores the arrivals that tasks report; returns how many were ahead of the clock."""
        found, ahead = {place: list[tuple[int, int, float, float]]() for place in self._tables}, 0
        for report in (report for own in reports.values() for report in own):
            for name, (word, pieces, own_ahead) in report.arrivals.items():
                place = self._places[name]
                self._words[place] = word
                found.setdefault(place, []).extend(pieces)
                ahead += own_ahead
        for place, own in found.items():
            if place not in self._tables:
                self._tables[place] = ArrivalTable(counted=self._is_counted)
            self._tables[place].note(own)
        return ahead

    def _sketches(
        self, triggers: Integers, taken: Mapping[int, tuple[int, int]], now_s: float, waits_s: Waits
    ) -> Iterator[LatencySketch]:
        """Of each source whose tuples have triggered results."""
        unknown = self._unknown(int(triggers[triggers[:, 0] == UNKNOWN, 3].sum()), taken)
        for place, name in enumerate(self._names):
            own = np.concatenate([triggers[triggers[:, 0] == place, 1:], *unknown.get(place, ())])
            if place in self._schedules and place in self._stops:
                schedule, began_s = self._schedules[place].arrival_s, self._started_at_s
                yield result_latency(own, self._stops[place], schedule, now_s - began_s)
            elif place in self._tables and len(self._tables[place]):
                is_taken = self._words[place] == INTAKE
                wait_s = (waits_s.get(name) or 0.0) if is_taken else 0.0
                yield result_latency(own, _NO_END, self._tables[place].arrival_s, now_s + wait_s)

    def _unknown(self, results: int, taken: Mapping[int, tuple[int, int]]) -> dict[int, list[Integers]]:
        """Results of which nobody knows the trigger: any tuple of the micro-batch may have been it."""
        tuples = {place: stop - first for place, (first, stop) in taken.items()}
        tuples |= {place: table.tuples for place, table in self._tables.items() if table.tuples}
        found, total, before, done = dict[int, list[Integers]](), sum(tuples.values()), 0, 0
        for place, own in tuples.items() if results and total else ():
            done += own
            share = round(results * done / total) - before
            before += share
            spread = np.array([(taken[place][0], own, share)]) if place in taken else self._tables[place].spread(share)
            found[place] = [spread]
        return found


def result_latency(triggers: Integers, stop: int, arrival_s: ArrivalS, committed_s: float) -> LatencySketch:
    """The sketch of `committed_s` minus the arrivals that triggered results.

    `triggers` are rows of (first offset, offsets, results) of one source, whose offsets end at `stop`.
    """
    if not len(triggers):
        return LatencySketch()
    moments = min(max(_MOMENTS_MAX // len(triggers), 1), _MOMENTS_PER_BLOCK_MAX)
    offsets, shares = np.empty((2, moments * len(triggers)), np.int64)
    arrival_kernels().spread(np.ascontiguousarray(triggers), stop, moments, offsets, shares)
    latency_ms: Floats = (committed_s - arrival_s(offsets)) * 1000
    return sketch_of(latency_ms, shares)
