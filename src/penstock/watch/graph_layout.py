"""A layered layout of a graph: layers by longest path, few crossings, boxes near what they are joined to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Layout:
    """Layers from first to last, each in order; `center` is a box's place across its layer.

    An edge that spans several layers goes through points of its own, whose names are in `chains`.
    """

    layers: tuple[tuple[str, ...], ...]
    center: Mapping[str, float]
    chains: Mapping[tuple[str, str], tuple[str, ...]]


def lay_out(
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    width: Mapping[str, float],
    *,
    gap: float,
    point_width: float = 0.0,
) -> Layout:
    """The layout of boxes of given widths, at least `gap` apart; `names` are in topological order."""
    distinct = tuple(dict.fromkeys(edges))
    level = _levels(names, distinct)
    chains, links = _chains(distinct, level)
    layers: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for name in (*names, *(point for chain in chains.values() for point in chain[1:-1])):
        layers[level[name]].append(name)
    before, after = _neighbours(links)
    _reorder(layers, before, after)
    widths = {name: width.get(name, point_width) for layer in layers for name in layer}
    center = _place(layers, before, after, widths, gap)
    return Layout(tuple(map(tuple, layers)), center, chains)


def _levels(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """One more than the highest level of what feeds it; sources stand right before their first reader."""
    level = dict.fromkeys(names, 0)
    for name in names:
        level[name] = max((level[start] + 1 for start, end in edges if end == name), default=0)
    fed = {end for _, end in edges}
    for name in names:
        readers = [level[end] for start, end in edges if start == name]
        if name not in fed and readers:
            level[name] = min(readers) - 1
    return level


def _chains(
    edges: Sequence[tuple[str, str]], level: dict[str, int]
) -> tuple[dict[tuple[str, str], tuple[str, ...]], list[tuple[str, str]]]:
    """Each edge as a chain of links from layer to layer; adds the points between to `level`."""
    chains, links = {}, []
    for start, end in edges:
        points = []
        for step in range(level[start] + 1, level[end]):
            points.append(f"{start}\0{end}\0{step}")
            level[points[-1]] = step
        chain = (start, *points, end)
        chains[start, end] = chain
        links += list(pairwise(chain))
    return chains, links


def _neighbours(links: Sequence[tuple[str, str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for start, end in links:
        before.setdefault(end, []).append(start)
        after.setdefault(start, []).append(end)
    return before, after


def _reorder(layers: list[list[str]], before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> None:
    """Orders each layer by the mean place of its neighbours, down and up, and keeps the order with fewest crossings."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers, after)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        indices = range(1, len(layers)) if down else range(len(layers) - 2, -1, -1)
        for i in indices:
            place = {name: n for n, name in enumerate(layers[i - 1 if down else i + 1])}
            near = before if down else after
            own = {name: n for n, name in enumerate(layers[i])}
            layers[i].sort(key=lambda name: _mean([place[o] for o in near.get(name, ())], own[name]))
        crossings = _crossings(layers, after)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    layers[:] = best


def _crossings(layers: Sequence[Sequence[str]], after: Mapping[str, list[str]]) -> int:
    total = 0
    for upper, lower in pairwise(layers):
        place = {name: n for n, name in enumerate(lower)}
        ends = [(n, place[end]) for n, name in enumerate(upper) for end in after.get(name, ())]
        total += sum(a[0] < b[0] and a[1] > b[1] for a in ends for b in ends)
    return total


def _place(
    layers: Sequence[Sequence[str]],
    before: Mapping[str, list[str]],
    after: Mapping[str, list[str]],
    width: Mapping[str, float],
    gap: float,
) -> dict[str, float]:
    """Centres: each layer in turn as near to its neighbours as order and widths allow."""
    center: dict[str, float] = {}
    for layer in layers:
        center |= zip(layer, _apart(layer, [0.0] * len(layer), width, gap), strict=True)
    for sweep in range(_SWEEPS):
        near = before if sweep % 2 == 0 else after
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = [_mean([center[other] for other in near.get(name, ())], center[name]) for name in layer]
            center |= zip(layer, _apart(layer, wanted, width, gap), strict=True)
    left = min((center[name] - width[name] / 2 for name in center), default=0.0)
    return {name: place - left for name, place in center.items()}


def _apart(layer: Sequence[str], wanted: Sequence[float], width: Mapping[str, float], gap: float) -> list[float]:
    """The places nearest to the wanted ones (least squares) with every pair far enough apart.

    Taking the needed distances off leaves places that must only not fall; pooling neighbours that do is exact.
    """
    offsets = [0.0]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + (width[left] + width[right]) / 2 + gap)
    pools: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=False):
        mean, count = want - offset, 1
        while pools and pools[-1][0] > mean:
            other, others = pools.pop()
            mean, count = (mean * count + other * others) / (count + others), count + others
        pools.append((mean, count))
    free = [mean for mean, count in pools for _ in range(count)]
    return [place + offset for place, offset in zip(free, offsets, strict=False)]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
