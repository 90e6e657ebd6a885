"""A run as a picture: arrivals against throughput, latency, replicas and their shares over time, with every change."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.watch.figures import change_text, time_text
from penstock.watch.pictures.canvas import blank_figure, save
from penstock.watch.pictures.mark_names import MarkName, mark_names
from penstock.watch.timeline import Step, committed_at_s, timeline_of

_CAPTION_LETTERS = 150
_HEIGHT_IN, _ABOVE_IN, _LANE_IN = 9.4, 0.95, 0.34  # without names of marks; title and caption; a row of names
Floats = npt.NDArray[np.float64]
_ARRIVALS, _PROCESSED, _LIGHT, _MARK = "#9aa3af", "#1f5fa8", "#6b7280", "#b3541e"
_GOAL = "#c0392b"
_LATENCY = (("p99", "#d7b5e0"), ("p95", "#8e44ad"), ("p50", "#4a235a"))
_ELEMENTS = ("#2c7a4b", "#1f5fa8", "#b3541e", "#6b4fa0", "#8a6d1d")
_SHADES = ("#1f5fa8", "#5b93cc", "#93bfe6", "#c3dcf3", "#7f8fa6", "#a9b4c4", "#ccd3dd", "#e3e7ec")


@dataclass(frozen=True, slots=True)
class ChartText:
    """Title, the line below it, and what the time axis says."""

    title: str
    caption: str
    time_axis: str = "seconds"


def save_run(
    observations: Sequence[Observation],
    configurations: Sequence[Configuration],
    text: ChartText,
    paths: Sequence[Path],
    *,
    begin_s: float | None = None,
    goal_ms: float | None = None,
) -> None:
    """Draws the same picture into every path: a run of one micro-batch at least, with each one's Configuration.

    `begin_s` is the moment (seconds since the epoch) at which the time axis begins.  `goal_ms`: the bound of a latency
    goal, drawn as a line; changes of the cap are not marked then, since control changes it often.
    """
    steps = timeline_of(observations, begin_s)
    zero_s = committed_at_s(observations[0]) - steps[0].committed_s
    marks = [
        (committed_at_s(before) - zero_s, change_text(old, new))
        for before, (old, new) in zip(observations, pairwise(configurations), strict=False)
        if old != (new if goal_ms is None else replace(new, micro_batch_tuples=old.micro_batch_tuples))
    ]
    shared_element = _shared_element(configurations[-1])
    span_s = max(steps[-1].committed_s, 1e-3)
    names = mark_names(marks, span_s)
    lanes = max((name.lane + 1 for name in names), default=0)
    height = _HEIGHT_IN + max(lanes - 2, 0) * _LANE_IN
    figure = blank_figure(13.5, height)
    figure.text(0.065, 1 - 0.395 / height, text.title, fontsize=15, fontweight="bold")
    caption = textwrap.fill(text.caption, _CAPTION_LETTERS)
    figure.text(0.065, 1 - 0.498 / height, caption, fontsize=10, color=_LIGHT, va="top", linespacing=1.35)
    top, bottom = 1 - (_ABOVE_IN + max(lanes, 2) * _LANE_IN) / height, 0.61 / height
    grid = figure.add_gridspec(
        4, 1, left=0.065, right=0.975, top=top, bottom=bottom, hspace=0.34, height_ratios=(3, 3, 1.6, 1.6)
    )
    axes = [figure.add_subplot(grid[0])]
    axes += [figure.add_subplot(grid[i], sharex=axes[0]) for i in range(1, 4)]
    _draw_throughput(axes[0], steps)
    _draw_latency(axes[1], steps, goal_ms)
    _draw_replicas(axes[2], steps, configurations)
    _draw_shares(axes[3], steps, shared_element)
    for own in axes:
        _lighten(own)
        own.tick_params(labelbottom=own is axes[-1])
    axes[0].set_xlim(0, span_s)
    axes[-1].set_xlabel(text.time_axis, fontsize=9.5)
    _draw_marks(axes, [at_s for at_s, _ in marks], names)
    for path in paths:
        save(figure, path)


def _edges(steps: Sequence[Step]) -> Floats:
    return np.array([steps[0].committed_s - steps[0].gap_s, *(s.committed_s for s in steps)])


def _draw_throughput(axes: Any, steps: Sequence[Step]) -> None:
    arrivals = np.array([np.nan if s.arrival_tuples_s is None else s.arrival_tuples_s for s in steps])
    rates = np.array([s.in_tuples_s for s in steps])
    unit, name = (
        (1e6, "M tuples/s") if max(np.nanmax(arrivals, initial=0.0), rates.max()) >= 1e6 else (1e3, "k tuples/s")
    )
    arrivals, rates = arrivals / unit, rates / unit
    axes.stairs(np.nan_to_num(arrivals), _edges(steps), color=_ARRIVALS, alpha=0.45, fill=True, lw=0, label="arrivals")
    axes.stairs(rates, _edges(steps), color=_PROCESSED, lw=1.3, baseline=None, label="processed")
    axes.set_ylim(0, max(float(np.nanmax(arrivals, initial=0.0)), float(rates.max())) * 1.12 or 1.0)
    _title(axes, "Throughput", name)
    axes.legend(loc="upper right", fontsize=9, frameon=False, ncols=2)


def _draw_latency(axes: Any, steps: Sequence[Step], goal_ms: float | None) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    known = [(s.committed_s, s.latency) for s in steps if s.latency is not None]
    moments = [moment for moment, _ in known]
    for name, colour in _LATENCY:
        axes.plot(moments, [getattr(latency, f"{name}_ms") for _, latency in known], color=colour, lw=1.3, label=name)
    if goal_ms is not None:
        axes.axhline(goal_ms, color=_GOAL, lw=1.4, ls=(0, (6, 2)), label=f"goal: p95 {time_text(goal_ms / 1000)}")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda ms, _: time_text(ms / 1000)))
    axes.yaxis.set_minor_locator(NullLocator())
    _title(axes, "Latency of results: commit minus arrival", "")
    if known:
        axes.legend(loc="upper right", fontsize=9, frameon=False, ncols=4)


def _draw_replicas(axes: Any, steps: Sequence[Step], configurations: Sequence[Configuration]) -> None:
    names = list(dict.fromkeys(element.name for c in configurations for element in c.elements))
    highest = 1
    for i, name in enumerate(names):
        known = [{element.name: element.replicas for element in c.elements} for c in configurations]
        replicas = np.array([own.get(name, 0) for own in known])
        # Lines that would lie on each other stand a little apart.
        shifted = replicas + 0.08 * (i - (len(names) - 1) / 2)
        axes.stairs(shifted, _edges(steps), color=_ELEMENTS[i % len(_ELEMENTS)], lw=2, baseline=None, label=name)
        highest = max(highest, int(replicas.max(initial=1)))
    axes.set_ylim(0, highest + 0.9)
    axes.set_yticks(range(0, highest + 1, max(1, highest // 5)))
    _title(axes, "Replicas", "")
    axes.legend(loc="upper right", fontsize=9, frameon=False, ncols=max(len(names), 1))


def _draw_shares(axes: Any, steps: Sequence[Step], element: str) -> None:
    """Each replica's share of the element's tuples, one on top of the other."""
    most = max((len(s.tuples_by_replica.get(element, ())) for s in steps), default=0)
    counts = np.zeros((most, len(steps)))
    for i, step in enumerate(steps):
        own = step.tuples_by_replica.get(element, ())
        counts[: len(own), i] = own
    tops = np.cumsum(counts / np.maximum(counts.sum(axis=0), 1), axis=0) * 100
    below = np.zeros(len(steps))
    for replica, top in enumerate(tops):
        colour = _SHADES[replica % len(_SHADES)]
        axes.stairs(top, _edges(steps), baseline=below, color=colour, fill=True, lw=0)
        below = top
    axes.set_ylim(0, 100)
    axes.set_yticks((0, 50, 100))
    _title(axes, f"Share of each replica of '{element}': the route", "%")


def _shared_element(configuration: Configuration) -> str:
    """The element whose load by replica is of interest: the last one with a route, else the last."""
    routed = [element.name for element in configuration.elements if element.route]
    return routed[-1] if routed else configuration.elements[-1].name


def _draw_marks(axes: Sequence[Any], moments_s: Sequence[float], names: Sequence[MarkName]) -> None:
    """A line through all panels at every change, and the names above the first panel."""
    for at_s in moments_s:
        for own in axes:
            own.axvline(at_s, color=_MARK, lw=1.0, ls=(0, (4, 3)), zorder=5)
    for name in names:
        axes[0].annotate(
            name.text, (name.at_s, 1.0), xycoords=("data", "axes fraction"),
            xytext=(-4 if name.is_left else 4, 6 + 72 * _LANE_IN * name.lane), textcoords="offset points", fontsize=8.5,
            color=_MARK, ha="right" if name.is_left else "left", va="bottom", linespacing=1.2,
        )  # fmt: skip


def _title(axes: Any, text: str, unit: str) -> None:
    axes.set_title(text, loc="left", fontsize=10.5, fontweight="bold", pad=4)
    axes.set_ylabel(unit, fontsize=9.5)


def _lighten(axes: Any) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#b8bdc6")
    axes.tick_params(colors=_LIGHT, labelsize=8.5)
    axes.grid(axis="y", color="#e6e8ec", lw=0.7)
    axes.set_axisbelow(True)
