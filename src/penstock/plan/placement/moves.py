"""Which slots change host when a placement follows another."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan.placement.placement import Placement

Moves = Mapping[int, str]  # slot -> the host it comes to


def hosts_of_slots(placement: Placement, slots: int) -> list[str]:
    """The host of each slot; an element without a route has one replica."""
    route = placement.route or (0,) * slots
    return [placement.hosts[replica] for replica in route]


def moves_between(before: Placement, after: Placement, slots: int) -> dict[int, str]:
    """The slots that change host, each with the one it comes to."""
    pairs = zip(hosts_of_slots(before, slots), hosts_of_slots(after, slots), strict=True)
    return {slot: new for slot, (old, new) in enumerate(pairs) if old != new}


def slots_by_host(moves: Moves) -> dict[str, list[int]]:
    """The slots that come to each host, ascending."""
    found: dict[str, list[int]] = {}
    for slot in sorted(moves):
        found.setdefault(moves[slot], []).append(slot)
    return found
