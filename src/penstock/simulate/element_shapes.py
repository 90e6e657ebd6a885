"""Graphs of MULTILEVEL's evaluation (its Figure 8), with balanced or skewed costs, as models of an element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from penstock.errors import InputError
from penstock.simulate.element_model import ElementModel, OperatorModel

FLOP_S = 1e-9
HEAVY_FLOP, MEDIUM_FLOP, LIGHT_FLOP = 10_000, 100, 1
Costs = Callable[[int], Sequence[float]]


def balanced(flop: float = MEDIUM_FLOP) -> Costs:
    """The same number of floating-point operations per tuple for every operator."""
    return lambda operators: [flop] * operators


def skewed(seed: int, heavy: float = 0.1, medium: float = 0.3) -> Costs:
    """Shares of heavy and medium operators at random places, light ones elsewhere."""

    def costs(operators: int) -> list[float]:
        heavy_ones, medium_ones = round(heavy * operators), round(medium * operators)
        light_ones = max(0, operators - heavy_ones - medium_ones)
        flop = [HEAVY_FLOP] * heavy_ones + [MEDIUM_FLOP] * medium_ones + [LIGHT_FLOP] * light_ones
        return [float(f) for f in np.random.default_rng(seed).permutation(flop[:operators])]

    return costs


def pipeline(operators: int, costs: Costs, *, block_tuples: int = 1, ordered: bool = True) -> ElementModel:
    """Source, `operators` in a row."""
    flop = costs(operators)
    links = [OperatorModel("source", 0.0, (("op0", 1.0),))]
    for number in range(operators):
        to = ((f"op{number + 1}", 1.0),) if number + 1 < operators else ()
        links.append(OperatorModel(f"op{number}", flop[number] * FLOP_S, to))
    return ElementModel(f"pipeline {operators}", tuple(links), block_tuples, ordered)


def data_parallel(width: int, costs: Costs, *, block_tuples: int = 1) -> ElementModel:
    """Source, blocks dealt out to `width` operators, a sink that counts under a lock."""
    return _paths(f"data-parallel {width}", width, 1, costs, block_tuples)


def mixed(width: int, depth: int, costs: Costs, *, block_tuples: int = 1, ordered: bool = True) -> ElementModel:
    """Source, blocks dealt out to `width` pipelines of `depth` operators, a sink that counts under a lock."""
    return _paths(f"mixed {width} x {depth}", width, depth, costs, block_tuples, ordered)


def bushy(costs: Costs, *, block_tuples: int = 1) -> ElementModel:
    """82 operators: a source, a tree that deals blocks out threefold three times, its mirror image, a locked sink."""
    levels = [1, 3, 9, 27, 27, 9, 3, 1]
    flop = iter(costs(sum(levels)))
    operators = [OperatorModel("source", 0.0, (("op0.0", 1.0),))]
    for level, width in enumerate(levels):
        following = levels[level + 1] if level + 1 < len(levels) else 0
        operators.extend(
            OperatorModel(f"op{level}.{number}", next(flop) * FLOP_S, _tree_outputs(level, number, width, following))
            for number in range(width)
        )
    operators.append(OperatorModel("sink", LIGHT_FLOP * FLOP_S, locked=True))
    return ElementModel("bushy 82", tuple(operators), block_tuples)


def one_operator(flop: float, *, block_tuples: int = 1, wait_s: float = 0.0) -> ElementModel:
    """ELASTIC's case: one stateless operator on any number of threads; `wait_s` is per block."""
    source = OperatorModel("source", 0.0, (("work", 1.0),))
    work = OperatorModel("work", flop * FLOP_S, wait_s=wait_s / block_tuples)
    return ElementModel(f"one operator of {flop:g} flop", (source, work), block_tuples, ordered=False)


def _paths(name: str, width: int, depth: int, costs: Costs, block_tuples: int, ordered: bool = True) -> ElementModel:
    if width < 1 or depth < 1:
        raise InputError(f"a graph has at least one path of one operator; got {width} of {depth}")
    flop = costs(width * depth)
    operators = [OperatorModel("source", 0.0, tuple((f"op{path}.0", 1.0 / width) for path in range(width)))]
    for path in range(width):
        for place in range(depth):
            to = f"op{path}.{place + 1}" if place + 1 < depth else "sink"
            operators.append(OperatorModel(f"op{path}.{place}", flop[path * depth + place] * FLOP_S, ((to, 1.0),)))
    operators.append(OperatorModel("sink", LIGHT_FLOP * FLOP_S, locked=True))
    return ElementModel(name, tuple(operators), block_tuples, ordered)


def _tree_outputs(level: int, number: int, width: int, following: int) -> tuple[tuple[str, float], ...]:
    if following > width:
        return tuple((f"op{level + 1}.{3 * number + branch}", 1 / 3) for branch in range(3))
    if following == width:
        return ((f"op{level + 1}.{number}", 1.0),)
    return ((f"op{level + 1}.{number // 3}", 1.0),) if following else (("sink", 1.0),)
