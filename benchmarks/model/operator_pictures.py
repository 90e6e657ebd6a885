"""Pictures of operators: their functions with what they were learned from, the rates of their results, this node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.model.biased import RecoveredOperator
from benchmarks.model.learned_operators import LearnedOperator, LearnedPoint
from benchmarks.pictures import figure_of, plain

_STEPS = 40


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """A node with an application: the highest rate of an element that uses a whole core, over the node's MIPS too.

    `share` is how much of the element's operators one of them has.
    """

    node: str
    operator: str
    rate_tuples_s: float
    mips: float | None
    share: float


def save_functions(operators: Sequence[LearnedOperator], path: Path) -> None:
    """CPU of the element, of the operator by the thread clock and of communication, and the function with its band.

    A panel for each operator; one of two ports has one for each rate of its second port (MODEL, Figure 17).
    """
    panels = [(own, level) for own in operators for level in _levels(own)]
    figure = figure_of(3.2 * len(panels), 3)
    for axes, (own, level) in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels, strict=True):
        _draw_function(axes, own, level)
    figure.savefig(path)


def _levels(own: LearnedOperator) -> list[tuple[float, ...]]:
    """The rates of all ports but the first that were measured, as far as they differ by more than a tenth."""
    found: list[tuple[float, ...]] = []
    for point in own.points:
        if not any(np.allclose(point.ports[1:], other, rtol=0.1) for other in found):
            found.append(point.ports[1:])
    return found


def _draw_function(axes: Any, own: LearnedOperator, level: tuple[float, ...]) -> None:
    points = [point for point in own.points if np.allclose(point.ports[1:], level, rtol=0.1)]
    rates = np.linspace(0.0, max(point.ports[0] for point in points), _STEPS)
    bands = [own.cost.cpu.band([rate, *level]) for rate in rates]
    axes.fill_between(rates, [low for low, _ in bands], [high for _, high in bands], alpha=0.3, label="98 % band")
    axes.plot(rates, [own.cost.cpu.at([rate, *level]) for rate in rates], label="function")
    at = [point.ports[0] for point in points]
    axes.plot(at, [point.element for point in points], "s", markersize=3, label="element")
    axes.plot(at, [point.communication for point in points], "+", label="communication")
    timed = [point for point in points if point.own is not None]
    axes.plot([point.ports[0] for point in timed], [point.own for point in timed], "k.", label="thread clock")
    other = "".join(f", {rate:,.0f}/s at port {port}" for port, rate in enumerate(level, 2))
    plain(axes, own.cost.name + other, "tuples/s", "cores", size=6)
    axes.legend(fontsize=5)


def save_rates(operators: Sequence[LearnedOperator], path: Path) -> None:
    """Tuples/s that each operator gives against those of the sources, measured and by the functions."""
    figure = figure_of(5, 3)
    axes = figure.subplots()
    for own in operators:
        points: Sequence[LearnedPoint] = own.points
        sources = [point.sources for point in points]
        (line,) = axes.plot(sources, [point.predicted_out for point in points], label=own.cost.name)
        axes.plot(sources, [point.out for point in points], "o", color=line.get_color(), markersize=3)
    plain(axes, "rates of results: lines by functions, points measured", "tuples/s of the sources", "tuples/s")
    axes.legend(fontsize=7)
    figure.savefig(path)


def node_figures(operators: Sequence[RecoveredOperator], node: str, mips: float | None) -> NodeFigures:
    """Of the first operator of a fused element; the element's rate where its operators use a whole core."""
    last = [own.measured[-1] for own in operators]
    return NodeFigures(node, operators[0].name, operators[0].rates[-1] / sum(last), mips, last[0] / sum(last))


def save_node(own: NodeFigures, path: Path) -> None:
    """The counterpart of Figure 9 for the node at hand, which is the only type that a run sees."""
    figure = figure_of(6, 3)
    named = [("tuples/s on one core", own.rate_tuples_s), (f"share of {own.operator}", own.share)]
    named += [("tuples/s per MIPS", own.rate_tuples_s / own.mips)] if own.mips else []
    for axes, (name, value) in zip(figure.subplots(1, len(named), squeeze=False).flat, named, strict=True):
        axes.bar([own.node], [value])
        plain(axes, name, size=7)
    figure.savefig(path)


def own_mips() -> float | None:
    """Linux's BogoMIPS of a processor, which the paper calls misleading between architectures."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    found = [float(line.split(":", 1)[1]) for line in lines if line.lower().startswith("bogomips")]
    return found[0] if found else None
