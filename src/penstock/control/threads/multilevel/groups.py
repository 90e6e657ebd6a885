"""Groups of operators whose costs are alike: logarithmic bins of the cost metric."""

from __future__ import annotations

import math
from collections.abc import Mapping


def cost_groups(costs: Mapping[str, float], base: float) -> tuple[tuple[str, ...], ...]:
    """Groups, the dearest first, each in program order; bin b holds costs within (top / base^(b+1), top / base^b].

    Operators that no snapshot saw are the last group.
    """
    top = max(costs.values(), default=0.0)
    bins: dict[float, list[str]] = {}
    for name, cost in costs.items():
        bins.setdefault(_bin(cost, top, base), []).append(name)
    return tuple(tuple(bins[number]) for number in sorted(bins))


def _bin(cost: float, top: float, base: float) -> float:
    if cost <= 0:
        return math.inf
    # a cost at a bin's edge must not fall off it by rounding
    return math.floor(math.log(top / cost, base) + 1e-9)
