"""A graph drawn with box characters, from top to bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.watch.graph_layout import Layout, lay_out

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINE = {
    _UP: "╵", _DOWN: "╷", _LEFT: "╴", _RIGHT: "╶",
    _UP | _DOWN: "│", _LEFT | _RIGHT: "─",
    _DOWN | _RIGHT: "┌", _DOWN | _LEFT: "┐", _UP | _RIGHT: "└", _UP | _LEFT: "┘",
    _UP | _DOWN | _RIGHT: "├", _UP | _DOWN | _LEFT: "┤", _DOWN | _LEFT | _RIGHT: "┬", _UP | _LEFT | _RIGHT: "┴",
    _UP | _DOWN | _LEFT | _RIGHT: "┼",
}  # fmt: skip
_PORT_DISTANCE = 4
_GAP = 3


@dataclass(frozen=True, slots=True)
class _Wire:
    """One output towards the next layer: where it starts, and where its ends go (by column)."""

    start: int
    ends: tuple[int, ...]

    @property
    def is_vertical(self) -> bool:
        return self.ends == (self.start,)

    @property
    def reach(self) -> tuple[int, int]:
        return min(self.start, *self.ends), max(self.start, *self.ends)


def draw_graph(labels: Mapping[str, Sequence[str]], edges: Sequence[tuple[str, str]]) -> str:
    """Boxes with the labels' lines and arrows between them; `labels` are in topological order.

    >>> print(draw_graph({"a": ["a"], "b": ["b"]}, [("a", "b")]))
    ┌───┐
    │ a │
    └─┬─┘
      ▼
    ┌───┐
    │ b │
    └───┘
    """
    inputs = {name: sum(end == name for _, end in dict.fromkeys(edges)) for name in labels}
    width = {name: _box_width(lines, inputs[name]) for name, lines in labels.items()}
    layout = lay_out(list(labels), edges, {name: float(w) for name, w in width.items()}, gap=_GAP, point_width=1)
    canvas = _Canvas()
    row = 0
    for number, layer in enumerate(layout.layers):
        height = max((len(labels[name]) + 2 for name in layer if name in labels), default=1)
        for name in layer:
            if name in labels:
                canvas.box(row, _left(layout, name, width[name]), width[name], labels[name], height)
            else:
                canvas.vertical(_column(layout, name), row - 1, row + height)
        row += height
        if number + 1 < len(layout.layers):
            row = _draw_wires(canvas, row, layout, number, width)
    return canvas.text()


def _box_width(lines: Sequence[str], inputs: int) -> int:
    """Odd, so that a box has a middle column; wide enough for its lines and for a port per input."""
    wanted = max(*(len(line) + 4 for line in lines), _PORT_DISTANCE * (inputs - 1) + 5)
    return wanted | 1


def _column(layout: Layout, name: str) -> int:
    return round(layout.center[name])


def _left(layout: Layout, name: str, width: int) -> int:
    return _column(layout, name) - width // 2


def _draw_wires(canvas: _Canvas, row: int, layout: Layout, number: int, width: Mapping[str, int]) -> int:
    """The lines between a layer and the next; gives the row at which the next layer starts."""
    wires = _wires(layout, number)
    tracks = _tracks([wire for wire in wires if not wire.is_vertical])
    bottom = row + len(tracks)
    for track, shared in enumerate(tracks):
        for wire in shared:
            canvas.wire(row + track, row, bottom, wire)
    for wire in wires:
        if wire.is_vertical:
            canvas.vertical(wire.start, row - 1, bottom)
    boxes = [name for name in layout.layers[number + 1] if name in width]
    for wire in wires:
        for end in wire.ends:
            lands = any(abs(end - _column(layout, name)) <= width[name] // 2 for name in boxes)
            canvas.finish(bottom, end, arrow=lands)
    return bottom + 1


def _wires(layout: Layout, number: int) -> list[_Wire]:
    """A wire per box or passing point of a layer; inputs of a box have a column each, in the order they come from."""
    links: dict[str, list[str]] = {name: [] for name in layout.layers[number]}
    sources: dict[str, list[str]] = {}
    for chain in layout.chains.values():
        for start, end in pairwise(chain):
            if start in links and end not in links[start]:
                links[start].append(end)
                sources.setdefault(end, []).append(start)
    column: dict[tuple[str, str], int] = {}
    for end, starts in sources.items():
        starts.sort(key=lambda name: layout.center[name])
        for i, start in enumerate(starts):
            shift = _PORT_DISTANCE * i - _PORT_DISTANCE * (len(starts) - 1) // 2
            column[start, end] = _column(layout, end) + shift
    return [_Wire(_column(layout, s), tuple(column[s, e] for e in ends)) for s, ends in links.items() if ends]


def _tracks(wires: list[_Wire]) -> list[list[_Wire]]:
    """Rows for the wires, those without overlap sharing one; a wire that starts where another ends lies above it."""
    waiting, rows = sorted(wires, key=lambda wire: wire.reach), list[list[_Wire]]()
    while waiting:
        ready = [
            w for w in waiting if not any(o is not w and w.start != o.start and o.start in w.ends for o in waiting)
        ]
        row: list[_Wire] = []
        for wire in ready or waiting[:1]:
            if all(wire.reach[0] > other.reach[1] + 1 or wire.reach[1] + 1 < other.reach[0] for other in row):
                row.append(wire)
        waiting = [wire for wire in waiting if wire not in row]
        rows.append(row)
    return rows


class _Canvas:
    """Characters by row and column; lines are kept as directions, so that crossing ones join into one character."""

    def __init__(self) -> None:
        self.lines: dict[tuple[int, int], int] = {}
        self.letters: dict[tuple[int, int], str] = {}

    def line(self, row: int, column: int, directions: int) -> None:
        self.lines[row, column] = self.lines.get((row, column), 0) | directions

    def vertical(self, column: int, start: int, stop: int) -> None:
        """A line from the middle of a row to the middle of another."""
        for row in range(start, stop + 1):
            self.line(row, column, (_UP if row > start else 0) | (_DOWN if row < stop else 0))

    def horizontal(self, row: int, start: int, stop: int) -> None:
        for column in range(start, stop + 1):
            self.line(row, column, (_LEFT if column > start else 0) | (_RIGHT if column < stop else 0))

    def box(self, row: int, left: int, width: int, lines: Sequence[str], height: int) -> None:
        right, bottom = left + width - 1, row + height - 1
        for edge in (row, bottom):
            self.horizontal(edge, left, right)
        for side in (left, right):
            self.vertical(side, row, bottom)
        for i, text in enumerate(lines, 1):
            for j, letter in enumerate(text.center(width - 2)):
                self.letters[row + i, left + 1 + j] = letter

    def wire(self, track: int, top: int, bottom: int, wire: _Wire) -> None:
        self.vertical(wire.start, top - 1, track)
        self.horizontal(track, *wire.reach)
        for end in wire.ends:
            self.vertical(end, track, bottom)

    def finish(self, row: int, column: int, *, arrow: bool) -> None:
        """The last cell of a line: an arrow into a box, or on to the next layer."""
        if arrow:
            self.letters[row, column] = "▼"
        else:
            self.line(row, column, _UP | _DOWN)

    def text(self) -> str:
        cells = {**{place: _LINE.get(bits, " ") for place, bits in self.lines.items()}, **self.letters}
        left = min(column for _, column in cells)
        rows = max(row for row, _ in cells) + 1
        columns = max(column for _, column in cells) + 1
        grid = ("".join(cells.get((row, column), " ") for column in range(left, columns)) for row in range(rows))
        return "\n".join(line.rstrip() for line in grid)
