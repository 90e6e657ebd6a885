"""Which operators go by a watermark, and how far behind each source's highest event time it is for them.

A source with `out_of_order_s` has a watermark: its highest event time less that bound.  Where it meets a source that
has an event time and no bound, that one has a watermark, too, and its bound is 0.  Results of windows are older than
the watermark that fired them, so it lags behind for what reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.app.windows import MICROSECONDS, Window
from penstock.plan.elements.order import is_paced, streams_with_positions

_MOST_US = 1 << 61  # two of these and a time in microseconds stay within int64


@dataclass(frozen=True, slots=True)
class SourceLag:
    """A source that an operator's watermark goes by: its place, and by how much the watermark is behind its times."""

    place: int
    behind_us: int


@dataclass(frozen=True, slots=True)
class Watermark:
    """What an operator's watermark is the lowest of; `step_us` is its pane, 1 where every microsecond counts.

    `rank` is the operator's place in the program: of results at one tick, those of earlier operators stand first.
    """

    sources: tuple[SourceLag, ...]
    step_us: int
    rank: int
    drops_late: frozenset[int] = frozenset()  # places of sources whose late tuples are dropped


def watermarks(graph: Graph) -> dict[str, Watermark]:
    """The watermark of every operator that goes by one: it has time windows, and a source with a bound reaches it."""
    lags = _lags(graph)
    bounded = {place for place, source in enumerate(graph.sources) if source.out_of_order_s is not None}
    drops = frozenset(place for place, source in enumerate(graph.sources) if source.late == "drop")
    found = {}
    for rank, operator in enumerate(graph.operators):
        windows = time_windows(operator)
        own = _highest([lags[stream] for stream in operator.inputs])
        if windows and bounded & own.keys():
            step_us = 1 if isinstance(operator, ops.Join) else int(windows[0].every)
            sources = tuple(SourceLag(place, own[place]) for place in sorted(own))
            found[operator.name] = Watermark(sources, step_us, rank, drops)
    return found


def bounds_s(graph: Graph) -> dict[str, float]:
    """By source that has a watermark, how much later than a newer one a tuple of it may come, in seconds."""
    named = {lag.place for watermark in watermarks(graph).values() for lag in watermark.sources}
    found = {}
    for place, source in enumerate(graph.sources):
        if source.out_of_order_s is not None or place in named:
            found[source.name] = source.out_of_order_s or 0.0
    return found


def streams_to_watermarks(graph: Graph) -> frozenset[str]:
    """The streams from which an operator that goes by a watermark can be reached: their tuples know their positions."""
    named = watermarks(graph)
    needed: set[str] = set()
    for operator in reversed(graph.operators) if named else ():
        if operator.name in named or any(stream in needed for stream in operator.outputs):
            needed.update(operator.inputs)
    return frozenset(needed)


def element_positions(graph: Graph) -> frozenset[str]:
    """All streams of one element that must know their positions: they are merged somewhere, or go by a watermark."""
    return streams_with_positions(graph) | streams_to_watermarks(graph)


def time_windows(operator: ops.Operator) -> tuple[Window, ...]:
    """The time windows of an operator, by input."""
    match operator:
        case ops.Aggregate() | ops.Sort():
            windows: tuple[Window, ...] = (operator.window,)
        case ops.Join():
            windows = operator.left_window, operator.right_window
        case _:
            windows = ()
    return windows if windows and all(window.measure == "time" for window in windows) else ()


def microseconds(seconds: float) -> int:
    """A bound in microseconds, none too large to reckon with."""
    return round(min(seconds * MICROSECONDS, float(_MOST_US)))


def _lags(graph: Graph) -> dict[str, Mapping[int, int]]:
    """By stream, how far behind the highest event time of each source that has one a tuple of it may be."""
    places = {source.name: place for place, source in enumerate(graph.sources)}
    lags: dict[str, Mapping[int, int]] = {}
    own: dict[int, int]
    for operator in graph.operators:
        if isinstance(operator, ops.Source):
            bound_us = microseconds(operator.out_of_order_s or 0.0)
            own = {} if operator.event_time is None else {places[operator.name]: bound_us}
        else:
            more = _lag_of(graph, operator)
            before = _highest([lags[stream] for stream in operator.inputs])
            own = {place: min(lag + more, _MOST_US) for place, lag in before.items()}
        lags |= dict.fromkeys(operator.outputs, own)
    return lags


def _lag_of(graph: Graph, operator: ops.Operator) -> int:
    """How much older than the watermark before them an operator's results may be.

    A window that a watermark (or, without one, the highest time so far) fires ended after the one before it, so its
    results are younger than that less the window's length; a join's partner is less than a window's length older than
    the tuple that it meets.
    """
    if isinstance(operator, ops.Delay) and is_paced(graph, operator):
        return microseconds(operator.delay_s)
    return max((int(window.size) for window in time_windows(operator)), default=0)


def _highest(lags: list[Mapping[int, int]]) -> dict[int, int]:
    found: dict[int, int] = {}
    for own in lags:
        for place, lag in own.items():
            found[place] = max(lag, found.get(place, 0))
    return found
