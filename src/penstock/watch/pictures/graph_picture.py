"""A graph as a picture: boxes with name and kind, arrows, and a shade around the operators of each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any

from penstock.plan.explain import Explanation, OperatorPlan
from penstock.watch.graph_layout import Layout, lay_out
from penstock.watch.pictures.canvas import new_figure, save

_LINE_INCHES = 0.2
_NAME_LETTER_INCHES = 0.092
_LETTER_INCHES = 0.072
_LAYER_GAP = 0.75
_BOX_GAP = 0.55
_SHADE_INCHES = 0.17
_SHADES = ("#cfe3f7", "#fbe3c5", "#d5edd0", "#efd4ea", "#fdf3b8", "#d3ece9", "#f9d2d0", "#dcdcf5", "#e6dfd3")
_FILL = {"source": "#2f6da8", "sink": "#5b6470"}
_LINE_COLOUR = "#4a4f57"
_POINTS_PER_INCH = 72


@dataclass(frozen=True, slots=True)
class _Box:
    """A box in inches, from the picture's top left."""

    x: float
    y: float
    width: float
    height: float


def save_graph(explanation: Explanation, path: FilePath) -> None:
    """Draws an explained application into an .svg or .png file."""
    labels = {o.name: _lines(o) for o in explanation.operators}
    height = {name: _LINE_INCHES * len(lines) + 0.22 for name, lines in labels.items()}
    width = {name: _width(lines) for name, lines in labels.items()}
    edges = [(start, end) for start, _, end in explanation.edges]
    layout = lay_out(list(labels), edges, width, gap=_BOX_GAP, point_width=0.1)
    boxes = _boxes(layout, width, height)
    shades = _shades(explanation)
    right = max(box.x + box.width / 2 for box in boxes.values())
    bottom = max(box.y + box.height / 2 for box in boxes.values())
    legend = [plan.element for plan in explanation.elements if plan.element.name in shades]
    total = bottom + 0.45 + 0.24 * len(legend)
    figure, axes = new_figure(max(right, 4.5) + 0.8, total + 1.0)
    axes.set_xlim(-0.4, max(right, 4.5) + 0.4)
    axes.set_ylim(total, -1.0)
    axes.text(-0.1, -0.62, explanation.application, fontsize=14, fontweight="bold", va="center")
    _draw_edges(axes, layout, boxes, explanation, shades)
    for operator in explanation.operators:
        _draw_box(axes, boxes[operator.name], labels[operator.name], operator, shades.get(operator.element))
    for i, element in enumerate(legend):
        where = f" on {element.host}" if element.host else ""
        text = f"{element.name}{where}: {', '.join(element.operators)}"
        _legend_row(axes, bottom + 0.5 + 0.24 * i, shades[element.name], text)
    save(figure, path)


def _lines(operator: OperatorPlan) -> list[str]:
    keys = [f"by {', '.join(operator.keys[0])}"] if operator.keys else []
    return [operator.name, operator.kind, *operator.windows, *keys]


def _width(lines: Sequence[str]) -> float:
    return max(len(lines[0]) * _NAME_LETTER_INCHES, *(len(line) * _LETTER_INCHES for line in lines[1:])) + 0.35


def _shades(explanation: Explanation) -> dict[str, str]:
    """A colour for each element that was asked for; parts of one partition share it."""
    wanted = dict.fromkeys(plan.element.partition for plan in explanation.elements if plan.element.partition)
    colour = {partition: _SHADES[i % len(_SHADES)] for i, partition in enumerate(wanted)}
    return {p.element.name: colour[p.element.partition] for p in explanation.elements if p.element.partition}


def _boxes(layout: Layout, width: dict[str, float], height: dict[str, float]) -> dict[str, _Box]:
    """Every box, and every point that a long edge goes through (without a size)."""
    boxes, top = {}, 0.0
    for layer in layout.layers:
        tallest = max((height[name] for name in layer if name in height), default=0.0)
        for name in layer:
            size = (width[name], height[name]) if name in width else (0.0, tallest)
            boxes[name] = _Box(layout.center[name], top + tallest / 2, *size)
        top += tallest + _LAYER_GAP
    return boxes


def _draw_edges(
    axes: Any, layout: Layout, boxes: dict[str, _Box], explanation: Explanation, shades: dict[str, str]
) -> None:
    from matplotlib.patches import FancyArrowPatch, PathPatch

    element_of = {o.name: o.element for o in explanation.operators}
    inputs = {name: [e for e in layout.chains if e[1] == name] for name in element_of}
    for (start, end), chain in layout.chains.items():
        curve = _curve([boxes[name] for name in chain], _port(layout, inputs[end], (start, end), boxes[end]))
        if element_of[start] == element_of[end] and element_of[start] in shades:
            wide = 2 * _SHADE_INCHES * _POINTS_PER_INCH
            colour = shades[element_of[start]]
            axes.add_patch(PathPatch(curve, fill=False, lw=wide, ec=colour, capstyle="butt", zorder=1))
        arrow = FancyArrowPatch(path=curve, arrowstyle="-|>", mutation_scale=12, lw=1.2, color=_LINE_COLOUR, zorder=3)
        axes.add_patch(arrow)


def _port(layout: Layout, inputs: Sequence[tuple[str, str]], edge: tuple[str, str], box: _Box) -> float:
    """Where an edge enters its box: inputs side by side, in the order they come from."""
    ordered = sorted(inputs, key=lambda e: layout.center[layout.chains[e][-2]])
    share = (ordered.index(edge) + 1) / (len(ordered) + 1) - 0.5
    return box.x + share * box.width * 0.8


def _curve(boxes: Sequence[_Box], port: float) -> Any:
    """A smooth path from the bottom of a box, through the points between, to the top of another."""
    from matplotlib.path import Path

    ends = [(boxes[0].x, boxes[0].y + boxes[0].height / 2)]
    for box in boxes[1:-1]:
        ends += [(box.x, box.y - box.height / 2), (box.x, box.y + box.height / 2)]
    ends.append((port, boxes[-1].y - boxes[-1].height / 2))
    points, codes = [ends[0]], [Path.MOVETO]
    for i, ((x0, y0), (x1, y1)) in enumerate(pairwise(ends)):
        if i % 2 == 1:  # along a passing point: straight down
            points.append((x1, y1))
            codes.append(Path.LINETO)
            continue
        bend = (y1 - y0) / 2
        points += [(x0, y0 + bend), (x1, y1 - bend), (x1, y1)]
        codes += [Path.CURVE4] * 3
    return Path(points, codes)


def _draw_box(axes: Any, box: _Box, lines: Sequence[str], operator: OperatorPlan, shade: str | None) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = (box.x - box.width / 2, box.y - box.height / 2)
    if shade is not None:
        outer = (corner[0] - _SHADE_INCHES, corner[1] - _SHADE_INCHES)
        size = (box.width + 2 * _SHADE_INCHES, box.height + 2 * _SHADE_INCHES)
        axes.add_patch(
            FancyBboxPatch(outer, *size, boxstyle="round,pad=0,rounding_size=0.2", fc=shade, ec="none", zorder=1)
        )
    colour = _FILL.get(operator.kind)
    face, letters = (colour, "white") if colour else ("white", "#1d2229")
    style = "round,pad=0,rounding_size=0.08"
    axes.add_patch(
        FancyBboxPatch(
            corner, box.width, box.height, boxstyle=style, fc=face, ec=colour or _LINE_COLOUR, lw=1.2, zorder=4
        )
    )
    top = box.y - _LINE_INCHES * (len(lines) - 1) / 2
    for i, line in enumerate(lines):
        weight = {"fontweight": "bold", "fontsize": 9.5} if i == 0 else {"fontsize": 8.5, "alpha": 0.85}
        axes.text(box.x, top + i * _LINE_INCHES, line, ha="center", va="center", color=letters, zorder=5, **weight)


def _legend_row(axes: Any, y: float, colour: str, text: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.add_patch(
        FancyBboxPatch((0.0, y - 0.07), 0.26, 0.14, boxstyle="round,pad=0,rounding_size=0.05", fc=colour, ec="none")
    )
    axes.text(0.36, y, text, fontsize=8.5, va="center")
