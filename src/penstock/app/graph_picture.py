"""The graph as a picture for notebooks: operators in columns from left to right, streams as lines."""

from __future__ import annotations

from html import escape

from penstock.app.graph import Graph

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _EDGE = 132, 40, 44, 18, 8
_STYLE = "font:12px system-ui,sans-serif"
_MOST_LETTERS = 17


def svg_of(graph: Graph) -> str:
    """An SVG; names are escaped, and long ones cut with the whole name as a title.

    >>> from penstock.app.application import Application
    >>> app = Application("halves")
    >>> app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")
    >>> svg_of(app.graph).count("<rect"), svg_of(app.graph).count("<path")
    (3, 2)
    """
    places = _places(graph)
    columns, rows = (1 + max(place[i] for place in places.values()) for i in (0, 1))
    width = 2 * _EDGE + columns * _WIDTH + (columns - 1) * _GAP_X
    height = 2 * _EDGE + rows * _HEIGHT + (rows - 1) * _GAP_Y
    lines = [_line(places[start], places[end], stream) for start, stream, end in graph.edges()]
    boxes = [_box(places[o.name], o.name, type(o).__name__) for o in graph.operators]
    label = escape(f"graph of application {graph.name}", quote=True)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{width}" height="{height}"'
    return f'{head} viewBox="0 0 {width} {height}" style="{_STYLE}">{"".join(lines + boxes)}</svg>'


def _places(graph: Graph) -> dict[str, tuple[int, int]]:
    """Column and row of each operator: the column behind that of its last input, the next free row there."""
    places: dict[str, tuple[int, int]] = {}
    taken: dict[int, int] = {}
    for operator in graph.operators:
        before = [places[graph.producer(stream).name][0] for stream in operator.inputs]
        column = 1 + max(before, default=-1)
        places[operator.name] = column, taken.get(column, 0)
        taken[column] = taken.get(column, 0) + 1
    return places


def _corner(place: tuple[int, int]) -> tuple[int, int]:
    return _EDGE + place[0] * (_WIDTH + _GAP_X), _EDGE + place[1] * (_HEIGHT + _GAP_Y)


def _box(place: tuple[int, int], name: str, kind: str) -> str:
    x, y = _corner(place)
    shown = name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS - 1]}…"
    middle = x + _WIDTH // 2
    return (
        f"<g><title>{escape(f'{name}: {kind}')}</title>"
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#eef4fb" stroke="#3b6ea5"/>'
        f'<text x="{middle}" y="{y + 17}" text-anchor="middle" fill="#111">{escape(shown)}</text>'
        f'<text x="{middle}" y="{y + 32}" text-anchor="middle" fill="#555" font-size="10">{kind}</text></g>'
    )


def _line(start: tuple[int, int], end: tuple[int, int], stream: str) -> str:
    (x1, y1), (x2, y2) = _corner(start), _corner(end)
    x1, y1, y2 = x1 + _WIDTH, y1 + _HEIGHT // 2, y2 + _HEIGHT // 2
    bend = _GAP_X // 2
    path = f"M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}"
    return f'<path d="{path}" fill="none" stroke="#888"><title>{escape(stream)}</title></path>'
