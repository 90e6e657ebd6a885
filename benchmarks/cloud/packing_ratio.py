"""How far `twin.pack` is from the best of all placements: 8 partitions on 3 speeds."""

from __future__ import annotations

from itertools import product

import numpy as np

from penstock import twin
from penstock.simulate.packing import height_s

_SPEEDS = (2.4, 2.0, 1.6)
_PARTITIONS = 8


def worst_ratio(draws: int, seed: int = 1) -> float:
    random = np.random.default_rng(seed)
    nodes = twin.Nodes(tuple(twin.Node(f"n{n}", speed=speed) for n, speed in enumerate(_SPEEDS)))
    homes = np.array(list(product(range(len(_SPEEDS)), repeat=_PARTITIONS)))
    worst = 1.0
    for _ in range(draws):
        work_s = random.exponential(1.0, _PARTITIONS) if random.random() < 0.5 else random.uniform(0.1, 1, _PARTITIONS)
        heights = np.stack([((homes == n) * work_s).sum(1) / speed for n, speed in enumerate(_SPEEDS)])
        by_partition = {("a", n): float(work) for n, work in enumerate(work_s)}
        ratio = height_s(by_partition, nodes, twin.pack(by_partition, nodes)) / float(heights.max(0).min())
        worst = max(worst, ratio)
    return worst
