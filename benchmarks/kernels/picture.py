"""The picture of a run: a bar per case, as a share of its limit, with the goal as a mark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.kernels.measurement import Measurement
from benchmarks.machine import Machine

_AXIS = (
    "tuples/s as a share of the limit (bar: kernel where it is judged, dot then: whole operator); "
    "whiskers: lowest to highest round; black mark: goal"
)
_REACHED, _MISSED, _UNJUDGED = "#2a7f62", "#c2483d", "#8a94a0"


def draw(results: Sequence[Measurement], machine: Machine, path: Path) -> None:
    """Writes the picture; the file's ending says its format."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.6 + 0.24 * len(results)), layout="constrained")
    axes = figure.add_subplot()
    places = range(len(results))
    ratios = [result.ratio for result in results]
    spread = [[r.ratio - min(r.ratios) for r in results], [max(r.ratios) - r.ratio for r in results]]
    axes.barh(places, ratios, xerr=spread, color=[_colour(r) for r in results], height=0.7, ecolor="#333333")
    for place, result in enumerate(results):
        if result.kernel_ratios:  # where the bar is the kernel's
            axes.plot(
                median(result.operator_ratios), place, "o", color="white", markeredgecolor="#333333", markersize=4
            )
        if result.case.goal_ratio is not None:
            axes.plot([result.case.goal_ratio] * 2, [place - 0.42, place + 0.42], color="black", linewidth=1.6)
    axes.set_yticks(list(places), [result.case.name for result in results], fontsize=8)
    axes.invert_yaxis()
    axes.set_ylim(len(results) - 0.4, -0.6)
    axes.axvline(1.0, color="#333333", linewidth=0.8)
    axes.set_xlabel(_AXIS, fontsize=8)
    axes.set_title(f"python -m benchmarks kernels, one thread, on {machine.processor}", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def _colour(result: Measurement) -> str:
    if result.reaches_goal is None:
        return _UNJUDGED
    return _REACHED if result.reaches_goal else _MISSED
