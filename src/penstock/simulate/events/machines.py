"""Nodes and a schedule as cores, lanes and pools.

A pool is a set of cores that the same operators (or parts of them) may run on.  A lane is cores that are equal at all
times: of one group of nodes, with the same load, serving the same pools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.arguments import shown
from penstock.errors import InputError, did_you_mean
from penstock.plan.nodes import Node, Nodes
from penstock.simulate.events.model import Model

MOST_CORES = 1_000_000
ORDERS = ("oldest_first", "fifo", "nearest_to_sink")
Schedule = str | Mapping[str, Any]
Timeline = tuple[tuple[float, float, bool], ...]  # from when on which share of a core is there; whether it failed


@dataclass(frozen=True, slots=True)
class Lane:
    """Equal cores: of which group, at what share of their speed over time, for which pools; the node of each core."""

    group: Node
    timeline: Timeline
    pools: tuple[int, ...]
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Machines:
    """Lanes, the pools of each operator (one, or one for each part), and the names of nodes."""

    lanes: tuple[Lane, ...]
    pools_by_operator: Mapping[str, tuple[int, ...]]
    pools: int
    names: tuple[str, ...]
    order: str


def machines_of(model: Model, nodes: Nodes, schedule: Schedule) -> Machines:
    """Who may run where; InputError for a schedule that does not fit."""
    if nodes.cores > MOST_CORES:
        raise InputError(f"a simulation has at most {MOST_CORES:,} cores; got {shown(nodes.cores)}")
    if isinstance(schedule, str):
        if schedule not in ORDERS:
            hint = did_you_mean(schedule, ORDERS)
            raise InputError(
                f"schedule is one of {', '.join(ORDERS)}, or {{'pinned': {{node: [operators]}}}}; got '{schedule}'"
                + (f"; {hint}" if hint else "")
            )
        places = frozenset((node, core) for node, _, core in _cores(nodes))
        return _grouped(model, nodes, {operator.name: (places,) for operator in model.operators}, schedule)
    if (
        isinstance(schedule, Mapping)
        and len(schedule) == 1
        and isinstance(own := next(iter(schedule.values())), Mapping)
    ):
        if "pinned" in schedule:
            return _grouped(model, nodes, _pinned(model, nodes, own), "oldest_first")
        if "placed" in schedule:
            return _grouped(model, nodes, _placed(model, nodes, own), "oldest_first")
    raise InputError(
        f"schedule is one of {', '.join(ORDERS)}, {{'pinned': {{node: [operators]}}}} or {{'placed': twin.pack(...)}}; "
        f"got {shown(schedule)}"
    )


Places = frozenset[tuple[int, int]]  # (node, core)


def _cores(nodes: Nodes) -> list[tuple[int, Node, int]]:
    found, node = [], 0
    for group in nodes.groups:
        for _ in range(group.count):
            found += [(node, group, core) for core in range(group.cores)]
            node += 1
    return found


def nodes_named(nodes: Nodes, name: object, what: str) -> list[int]:
    """The numbers of the nodes that a name stands for: one of them, or a whole group."""
    names = list(nodes.names)
    if name in names:
        return [names.index(name)]
    found, first = [], 0
    for group in nodes.groups:
        if group.name == name:
            found = list(range(first, first + group.count))
        first += group.count
    if not found:
        known = sorted({*names, *(group.name for group in nodes.groups)})
        hint = did_you_mean(name, known)
        raise InputError(f"{what} names node {shown(name)}, which there is not" + (f"; {hint}" if hint else ""))
    return found


def _pinned(model: Model, nodes: Nodes, pins: Mapping[Any, Any]) -> dict[str, tuple[Places, ...]]:
    """Nodes with operators of their own run those alone; the other nodes run the other operators."""
    names = [operator.name for operator in model.operators]
    by_node: dict[int, set[str]] = {}
    for node, own in pins.items():
        if not isinstance(own, list | tuple) or not all(isinstance(name, str) for name in own):
            raise InputError(f"a pinned node has a list of operators; got {shown(own)} for {shown(node)}")
        for name in own:
            if name not in names:
                hint = did_you_mean(name, names)
                raise InputError(
                    f"the pinned schedule names operator '{name}', which there is not" + (f"; {hint}" if hint else "")
                )
        for number in nodes_named(nodes, node, "the pinned schedule"):
            by_node.setdefault(number, set()).update(own)
    pinned = {name for own in by_node.values() for name in own}
    eligible: dict[str, tuple[Places, ...]] = {}
    for name in names:
        places = frozenset(
            (node, core)
            for node, _, core in _cores(nodes)
            if (name in by_node[node] if node in by_node else name not in pinned)
        )
        if not places:
            raise InputError(f"the pinned schedule leaves no node for operator '{name}'")
        eligible[name] = (places,)
    return eligible


def _placed(model: Model, nodes: Nodes, places: Mapping[Any, Any]) -> dict[str, tuple[Places, ...]]:
    cores = {(node, core) for node, _, core in _cores(nodes)}
    eligible: dict[str, tuple[Places, ...]] = {}
    for operator in model.operators:
        own: list[Places] = []
        for part in range(operator.partitions):
            place = places.get((operator.name, part))
            if not (isinstance(place, tuple) and len(place) == 2):
                raise InputError(
                    f"the placed schedule has a (node, core) for each partition; got {shown(place)} "
                    f"for partition {part} of operator '{operator.name}'"
                )
            (node,) = nodes_named(nodes, place[0], "the placed schedule")[:1]
            if (node, place[1]) not in cores:
                raise InputError(
                    f"the placed schedule names core {shown(place[1])} of node '{place[0]}', which there is not"
                )
            own.append(frozenset({(node, place[1])}))
        eligible[operator.name] = tuple(own)
    return eligible


def _grouped(model: Model, nodes: Nodes, eligible: Mapping[str, Sequence[Places]], order: str) -> Machines:
    numbers: dict[Places, int] = {}
    pools_by_operator = {
        name: tuple(numbers.setdefault(places, len(numbers)) for places in own) for name, own in eligible.items()
    }
    pools_by_core: dict[tuple[int, int], list[int]] = {}
    for places, number in numbers.items():
        for place in places:
            pools_by_core.setdefault(place, []).append(number)
    lanes: dict[tuple[str, Timeline, tuple[int, ...]], list[int]] = {}
    groups = {group.name: group for group in nodes.groups}
    timelines = {(group.name, core): _timeline(group, core) for group in nodes.groups for core in range(group.cores)}
    for node, group, core in _cores(nodes):
        pools = tuple(sorted(pools_by_core.get((node, core), ())))
        lanes.setdefault((group.name, timelines[group.name, core], pools), []).append(node)
    found = tuple(Lane(groups[name], timeline, pools, tuple(own)) for (name, timeline, pools), own in lanes.items())
    return Machines(found, pools_by_operator, len(numbers), nodes.names, order)


def _timeline(group: Node, core: int) -> Timeline:
    """What is left of a core from each moment on: loads take the last cores of a node first."""
    begins = [one.from_s for one in group.loads] + [one.from_s for one in group.outages]
    ends = [one.to_s for one in group.loads] + [one.to_s for one in group.outages]
    moments = sorted({0.0, *begins, *ends})
    found: list[tuple[float, float, bool]] = []
    for moment in moments:
        taken = sum(load.cores for load in group.loads if load.from_s <= moment < load.to_s)
        failed = any(outage.from_s <= moment < outage.to_s for outage in group.outages)
        share = 0.0 if failed else min(1.0, max(0.0, 1.0 - (taken - (group.cores - 1 - core))))
        if not found or (share, failed) != found[-1][1:]:
            found.append((moment, share, failed))
    return tuple(found)
