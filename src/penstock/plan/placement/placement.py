"""Which host a replica prefers, so that it finds its slots there; chosen so that few slots ever move."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.plan.placement.host_balance import even_out_load, is_even
from penstock.plan.placement.host_pace import capacities


@dataclass(frozen=True, slots=True)
class Placement:
    """One element's replicas on hosts.

    `homes` are where replicas belong, `hosts` where they run now: elsewhere only while their home has no executor.
    """

    homes: tuple[str, ...]
    hosts: tuple[str, ...]
    route: tuple[int, ...] = ()


class Packing:
    """Places elements one after the other, each next to the load of those before it.

    `loads`: work by slot as last measured, of all elements in the same unit; of none where one is not known, so that
    every replica counts the same.  `hosts`: where elements are to be that somebody asked a host for.  `paces`: how much
    the cores of hosts do, 1 where that is not known: hosts count for as many cores as they are worth, and what took
    a second on a slow host is less work.
    """

    def __init__(
        self,
        cores_by_host: Mapping[str, float],
        loads: Mapping[str, Sequence[float]] | None = None,
        hosts: Mapping[str, str] | None = None,
        paces: Mapping[str, float] | None = None,
    ) -> None:
        self._loads, self._hosts, self._paces = loads or {}, hosts or {}, paces or {}
        self._cores = capacities(cores_by_host, self._paces)
        self._other_load = dict.fromkeys(cores_by_host, 0.0)

    def place(
        self, name: str, replicas: int, route: tuple[int, ...], before: Placement | None, aim: Placement | None = None
    ) -> Placement:
        """One element's replicas on hosts that have executors now; `aim`: where they are going already."""
        work = self._work(self._loads[name], before) if self._loads else ()
        loads = _load_by_replica(replicas, route, work) if self._loads else [1.0] * replicas
        host = self._hosts.get(name)
        cores = {host: self._cores[host]} if host is not None and host in self._cores else self._cores
        placement = aim or place(replicas, route, cores, before, loads, self._other_load)
        for replica, host in enumerate(placement.hosts):
            self._other_load[host] += loads[replica]
        return placement

    def _work(self, loads: Sequence[float], before: Placement | None) -> Sequence[float]:
        """Seconds by slot, as they would be on the mean host."""
        if before is None or not self._paces:
            return loads
        paces = [self._paces.get(host, 1.0) for host in before.hosts]
        route = before.route if len(before.route) == len(loads) else (0,) * len(loads)
        return [load * paces[replica] for load, replica in zip(loads, route, strict=True)]


def place(
    replicas: int,
    route: tuple[int, ...],
    cores_by_host: Mapping[str, float],
    before: Placement | None,
    load_by_replica: Sequence[float] = (),
    other_load: Mapping[str, float] | None = None,
) -> Placement:
    """Replicas on the hosts that have executors now, at least one.

    A replica stays at its home, and leaves it only while that is gone.  Where a route has changed, replicas go to
    where most of their slots are, unless hosts would differ clearly in load.  A host that is new gets replicas only as
    far as others have too many.  `other_load`: the load of other elements by host.
    """
    if before is not None and len(before.homes) == replicas and before.route == route:
        homes = list(before.homes)
        hosts = _without_the_lost(homes, cores_by_host, before)
        _even_out(homes, hosts, cores_by_host, route)
        return Placement(tuple(homes), tuple(hosts), route)
    loads = load_by_replica if any(load_by_replica) else [1.0] * replicas
    others, held = other_load or {}, _slots_held(replicas, route, before)
    homes = _homes_by_slots(held, loads, cores_by_host, others)
    _even_out(homes, list(homes), cores_by_host, route)
    even_out_load(homes, loads, held, cores_by_host, others)
    return Placement(tuple(homes), tuple(homes), route)


def stayed(before: Placement, cores_by_host: Mapping[str, float]) -> Placement:
    """The same placement, but for replicas whose host has no executor any more: those go where there is most room."""
    return Placement(before.homes, tuple(_without_the_lost(before.hosts, cores_by_host, None)), before.route)


def _load_by_replica(replicas: int, route: tuple[int, ...], loads: Sequence[float]) -> list[float]:
    found = [0.0] * replicas
    for slot, load in enumerate(loads):
        found[route[slot] if route else 0] += load
    return found


def _homes_by_slots(
    held: Sequence[Counter[str]],
    loads: Sequence[float],
    cores_by_host: Mapping[str, float],
    other_load: Mapping[str, float],
) -> list[str]:
    """For each replica the host that has most of its slots; where that has its share already, the next best."""
    total = sum(cores_by_host.values())
    share = {host: math.ceil(len(held) * cores / total) for host, cores in cores_by_host.items()}
    number: Counter[str] = Counter()
    load = {host: other_load.get(host, 0.0) for host in cores_by_host}
    homes = [""] * len(held)
    for replica in sorted(range(len(held)), key=lambda r: (-max(held[r].values(), default=0), -loads[r], r)):
        free = [host for host in cores_by_host if number[host] < share[host]]
        own = loads[replica]
        homes[replica] = min(free, key=lambda h: (-held[replica][h], (load[h] + own) / cores_by_host[h], h))
        number[homes[replica]] += 1
        load[homes[replica]] += own
    return homes


def _slots_held(replicas: int, route: tuple[int, ...], before: Placement | None) -> list[Counter[str]]:
    """How many of each replica's slots every host has."""
    held: list[Counter[str]] = [Counter() for _ in range(replicas)]
    if before is not None and len(before.route) == len(route):
        for new, old in zip(route, before.route, strict=True):
            held[new][before.hosts[old]] += 1
    return held


def _without_the_lost(homes: Sequence[str], cores_by_host: Mapping[str, float], before: Placement | None) -> list[str]:
    """Everyone at home; those whose home is gone stay where they went at first, where there was most room."""
    hosts = [home if home in cores_by_host else "" for home in homes]
    if before is not None:
        hosts = [now or (was if was in cores_by_host else "") for now, was in zip(hosts, before.hosts, strict=True)]
    load = Counter(hosts)
    for replica in [r for r, host in enumerate(hosts) if not host]:
        hosts[replica] = min(cores_by_host, key=lambda host: ((load[host] + 1) / cores_by_host[host], host))
        load[hosts[replica]] += 1
    return hosts


def _even_out(homes: list[str], hosts: list[str], cores_by_host: Mapping[str, float], route: tuple[int, ...]) -> None:
    """Gives replicas of the fullest host a home on the emptiest, while that is the emptier one even with them.

    Guests go first, then those with the fewest slots.
    """
    load = Counter(hosts)
    while not is_even(load, cores_by_host):
        most = max(cores_by_host, key=lambda host: (load[host] / cores_by_host[host], host))
        least = min(cores_by_host, key=lambda host: ((load[host] + 1) / cores_by_host[host], host))
        slots = Counter(route)
        strangers_first = [(homes[r] != most, -slots[r], r) for r, host in enumerate(hosts) if host == most]
        replica = max(strangers_first)[2]
        homes[replica] = hosts[replica] = least
        load[most] -= 1
        load[least] += 1
