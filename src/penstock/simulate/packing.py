"""Bin-packing of partitions onto cores: CLOUD 3.1 (scopes) and 3.3 (heights by node)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from penstock.arguments import Rule, check_arguments, is_number, is_whole, kind, or_none
from penstock.errors import InputError, did_you_mean
from penstock.plan.nodes import Nodes

SCOPES = ("global", "local", "tiered")
_FEW_CORES, _ALL_WAYS = 16, 20_000  # every way to place partitions is tried where there are no more: less than 10 ms
Partition = tuple[str, int]
Place = tuple[str, int]
_WORK = Rule(
    "a dict of seconds by (operator, number)",
    lambda value: (
        isinstance(value, Mapping)
        and all(
            isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], str) and is_whole(key[1], 0)
            and is_number(work) and work >= 0
            for key, work in value.items()
        )
    ),
)  # fmt: skip
_DISTANCES = Rule(
    "a dict of whole numbers by operator",
    lambda value: isinstance(value, Mapping) and all(isinstance(k, str) and is_whole(v, 0) for k, v in value.items()),
)


@dataclass(frozen=True, slots=True)
class Bin:
    """A core."""

    place: Place
    group: Any

    def speed(self, operator: str) -> float:
        return float(self.group.speed_of(operator))


def pack(
    work_s_by_partition: Mapping[Partition, float],
    nodes: Nodes,
    scope: str = "global",
    distance_by_operator: Mapping[str, int] | None = None,
) -> dict[Partition, Place]:
    """The core of each partition, so that the busiest core has as little to do as can be.

    Largest first, to the core that is done with it first; then partitions leave the busiest core, or change places, as
    long as that helps; of a few partitions on a few cores every way is tried.  A partition takes its work divided by
    the node's speed (for its operator's name as a class, where the node has such a speed).  `scope`: "global" packs all
    together, "local" each operator on its own, "tiered" together the operators of equal distance from the output
    (CLOUD 3.1).

    >>> from penstock import twin
    >>> twin.pack({("a", 0): 2.0, ("a", 1): 1.0}, twin.Nodes((twin.Node("slow"), twin.Node("fast", speed=2.0))))
    {('a', 0): ('fast', 0), ('a', 1): ('slow', 0)}
    """
    check_arguments(
        "twin.pack", work_s_by_partition=(work_s_by_partition, _WORK), nodes=(nodes, kind("twin.nodes(...)", Nodes)),
        distance_by_operator=(distance_by_operator, or_none(_DISTANCES)),
    )  # fmt: skip
    if scope not in SCOPES if isinstance(scope, str) else True:
        hint = did_you_mean(scope, SCOPES)
        raise InputError(f"scope is one of {', '.join(SCOPES)}; got {scope!r}" + (f"; {hint}" if hint else ""))
    bins = [Bin((name, core), group) for group in nodes.groups for name in group.names for core in range(group.cores)]
    placed: dict[Partition, Place] = {}
    for together in _rounds(work_s_by_partition, scope, distance_by_operator):
        placed |= _packed(together, bins)
    return {partition: placed[partition] for partition in work_s_by_partition}


def height_s(work_s_by_partition: Mapping[Partition, float], nodes: Nodes, placed: Mapping[Partition, Place]) -> float:
    """How long the busiest core works."""
    groups = {name: group for group in nodes.groups for name in group.names}
    heights: dict[Place, float] = {}
    for partition, place in placed.items():
        work_s = work_s_by_partition[partition] / groups[place[0]].speed_of(partition[0])
        heights[place] = heights.get(place, 0.0) + work_s
    return max(heights.values(), default=0.0)


def _rounds(
    work_s: Mapping[Partition, float], scope: str, distances: Mapping[str, int] | None
) -> list[dict[Partition, float]]:
    """What is packed together."""
    if scope == "global":
        return [dict(work_s)]
    if scope == "tiered":
        if distances is None:
            raise InputError("scope 'tiered' needs distance_by_operator: how far each operator is from the output")
        missing = sorted({name for name, _ in work_s} - set(distances))
        if missing:
            raise InputError(f"distance_by_operator has no distance of operator '{missing[0]}'")
    rounds: dict[object, dict[Partition, float]] = {}
    for partition, own in work_s.items():
        key = partition[0] if scope == "local" or distances is None else distances[partition[0]]
        rounds.setdefault(key, {})[partition] = own
    return list(rounds.values())


def _packed(work_s: Mapping[Partition, float], bins: Sequence[Bin]) -> dict[Partition, Place]:
    heights = [0.0] * len(bins)
    homes: dict[Partition, int] = {}
    speeds = {name: [own.speed(name) for own in bins] for name in {name for name, _ in work_s}}
    for partition in sorted(work_s, key=lambda own: (-work_s[own], own)):
        own = speeds[partition[0]]
        best = min(range(len(bins)), key=lambda n: (heights[n] + work_s[partition] / own[n], n))
        homes[partition] = best
        heights[best] += work_s[partition] / own[best]
    while _improve(work_s, speeds, heights, homes):
        pass
    if len(bins) <= _FEW_CORES and len(work_s) * log(len(bins)) <= log(_ALL_WAYS):
        homes = _best_of_all(work_s, speeds, homes, max(heights))
    return {partition: bins[number].place for partition, number in homes.items()}


def _best_of_all(
    work_s: Mapping[Partition, float], speeds: Mapping[str, list[float]], found: dict[Partition, int], highest: float
) -> dict[Partition, int]:
    """Every way to place a few partitions, tried at once: the lowest, or what was found where none is lower."""
    bins, partitions = len(next(iter(speeds.values()), [])), list(work_s)
    ways = np.arange(bins ** len(partitions))
    homes = [ways // bins**place % bins for place in range(len(partitions))]
    heights = np.zeros((bins, len(ways)))
    for partition, own in zip(partitions, homes, strict=True):
        heights[own, ways] += work_s[partition] / np.asarray(speeds[partition[0]])[own]
    tallest = heights.max(0, initial=0.0)
    best = int(np.argmin(tallest))
    if tallest[best] >= highest * (1 - 1e-12):
        return found
    return {partition: int(own[best]) for partition, own in zip(partitions, homes, strict=True)}


def _improve(
    work_s: Mapping[Partition, float],
    speeds: Mapping[str, list[float]],
    heights: list[float],
    homes: dict[Partition, int],
) -> bool:
    """Moves a partition out of the highest bin, or exchanges it for another; whether that lowers these bins."""
    top = max(range(len(heights)), key=heights.__getitem__)
    highest = heights[top]
    best: tuple[float, Partition, Partition | None, int] | None = None
    for partition in [own for own, home in homes.items() if home == top]:
        mine = speeds[partition[0]]
        left = highest - work_s[partition] / mine[top]
        for other in range(len(heights)):
            if other == top:
                continue
            there = heights[other] + work_s[partition] / mine[other]
            if max(left, there) < highest * (1 - 1e-12) and (best is None or max(left, there) < best[0]):
                best = (max(left, there), partition, None, other)
            for back in [own for own, home in homes.items() if home == other]:
                theirs = speeds[back[0]]
                new = max(left + work_s[back] / theirs[top], there - work_s[back] / theirs[other])
                if new < highest * (1 - 1e-12) and (best is None or new < best[0]):
                    best = (new, partition, back, other)
    if best is None:
        return False
    _, partition, returned, other = best
    heights[top] -= work_s[partition] / speeds[partition[0]][top]
    heights[other] += work_s[partition] / speeds[partition[0]][other]
    homes[partition] = other
    if returned is not None:
        heights[other] -= work_s[returned] / speeds[returned[0]][other]
        heights[top] += work_s[returned] / speeds[returned[0]][top]
        homes[returned] = top
    return True
