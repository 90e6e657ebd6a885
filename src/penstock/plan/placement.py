"""Which host a replica prefers, so that it finds its slots there; chosen so that few slots ever move."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Placement:
    """One element's replicas on hosts.

    `homes` are where replicas belong, `hosts` where they run now: elsewhere only while their home has no executor.
    """

    homes: tuple[str, ...]
    hosts: tuple[str, ...]
    route: tuple[int, ...] = ()


def place(
    replicas: int, route: tuple[int, ...], cores_by_host: Mapping[str, int], before: Placement | None
) -> Placement:
    """Replicas on the hosts that have executors now, at least one.

    A replica stays at its home, and leaves it only while that is gone.  Where a route has changed, replicas go to
    where most of their slots are.  A host that is new gets replicas only as far as the load is uneven without them.
    """
    if before is None or len(before.homes) != replicas or before.route != route:
        homes = _homes_by_slots(replicas, route, cores_by_host, before)
        before = None
    else:
        homes = list(before.homes)
    hosts = _without_the_lost(homes, cores_by_host, before)
    _even_out(homes, hosts, cores_by_host)
    return Placement(tuple(homes), tuple(hosts), route)


def stayed(before: Placement, cores_by_host: Mapping[str, int]) -> Placement:
    """The same placement, but for replicas whose host has no executor any more: those go where there is most room."""
    return Placement(before.homes, tuple(_without_the_lost(before.hosts, cores_by_host, None)), before.route)


def _homes_by_slots(
    replicas: int, route: tuple[int, ...], cores_by_host: Mapping[str, int], before: Placement | None
) -> list[str]:
    """For each replica the host that has most of its slots; where that has its share already, the next best."""
    held = _slots_held(replicas, route, before)
    total = sum(cores_by_host.values())
    share = {host: math.ceil(replicas * cores / total) for host, cores in cores_by_host.items()}
    load: Counter[str] = Counter()
    homes = [""] * replicas
    for replica in sorted(range(replicas), key=lambda r: (-max(held[r].values(), default=0), r)):
        room = [host for host in cores_by_host if load[host] < share[host]]
        homes[replica] = min(room, key=lambda h: (-held[replica][h], (load[h] + 1) / cores_by_host[h], h))
        load[homes[replica]] += 1
    return homes


def _slots_held(replicas: int, route: tuple[int, ...], before: Placement | None) -> list[Counter[str]]:
    """How many of each replica's slots every host has."""
    held: list[Counter[str]] = [Counter() for _ in range(replicas)]
    if before is not None and len(before.route) == len(route):
        for new, old in zip(route, before.route, strict=True):
            held[new][before.hosts[old]] += 1
    return held


def _without_the_lost(homes: Sequence[str], cores_by_host: Mapping[str, int], before: Placement | None) -> list[str]:
    """Everyone at home; those whose home is gone stay where they went at first, where there was most room."""
    hosts = [home if home in cores_by_host else "" for home in homes]
    if before is not None:
        hosts = [now or (was if was in cores_by_host else "") for now, was in zip(hosts, before.hosts, strict=True)]
    load = Counter(hosts)
    for replica in [r for r, host in enumerate(hosts) if not host]:
        hosts[replica] = min(cores_by_host, key=lambda host: ((load[host] + 1) / cores_by_host[host], host))
        load[hosts[replica]] += 1
    return hosts


def _even_out(homes: list[str], hosts: list[str], cores_by_host: Mapping[str, int]) -> None:
    """Gives replicas of the fullest host a home on the emptiest, while that is the emptier one even with them."""
    load = Counter(hosts)
    while True:
        most = max(cores_by_host, key=lambda host: (load[host] / cores_by_host[host], host))
        least = min(cores_by_host, key=lambda host: ((load[host] + 1) / cores_by_host[host], host))
        if (load[least] + 1) / cores_by_host[least] >= load[most] / cores_by_host[most]:
            return
        strangers_first = [(homes[r] != most, r) for r, host in enumerate(hosts) if host == most]
        replica = max(strangers_first)[1]
        homes[replica] = hosts[replica] = least
        load[most] -= 1
        load[least] += 1
