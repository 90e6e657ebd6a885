"""Rows of slots on hosts that no longer serve them: kept for a while, since slots often come back, then given up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.plan.placement.moves import Moves, hosts_of_slots, slots_by_host
from penstock.plan.placement.placement import Placement
from penstock.runtime.migration.copies import Movable
from penstock.state.extents import Integers

RETENTION_S = 300.0
_SLOTS_AT_ONCE = 32  # of a host: for as long as they take, a job has one of its task slots
_NOTHING, _NEEDED = np.nan, np.inf

Needed = Mapping[Movable, Mapping[str, list[int]]]


@dataclass(frozen=True, slots=True, eq=False)
class Leftover:
    """Slots of an element whose memory some hosts can have back, unless they have changed there since a batch."""

    element: Movable
    slots_by_host: Mapping[str, Integers]
    batch: int


@dataclass(frozen=True, slots=True, eq=False)
class _Left:
    """Since when each slot may have rows on a host for nothing, and which batch was the newest then."""

    since_s: npt.NDArray[np.float64]
    batch: Integers


class Leftovers:
    """What is left on each host of each element."""

    def __init__(self) -> None:
        self._left: dict[tuple[Movable, str], _Left] = {}

    def note(self, needed: Needed, hosts: set[str], now_s: float, batch: int) -> None:
        """After a batch, hosts need these slots and no others; a host that is new may have rows of any."""
        for key in [key for key in self._left if key[0] not in needed or key[1] not in hosts]:
            del self._left[key]
        for element, by_host in needed.items():
            for host in hosts if element.operators else ():
                if (element, host) not in self._left:
                    self._left[element, host] = _Left(np.full(element.slots, _NEEDED), np.zeros(element.slots, int))
                own = self._left[element, host]
                is_needed = np.zeros(element.slots, np.bool_)
                is_needed[by_host.get(host, [])] = True
                has_left = ~is_needed & np.isinf(own.since_s)
                own.since_s[has_left], own.batch[has_left] = now_s, batch
                own.since_s[is_needed] = _NEEDED

    def due(self, now_s: float) -> Leftover | None:
        """Some of what one element has left for long enough; the time begins anew, so that a failure has another."""
        chosen: dict[str, Integers] = {}
        element: Movable | None = None
        batch = -1
        for (owner, host), own in self._left.items():
            slots = np.flatnonzero(now_s - own.since_s >= RETENTION_S)[:_SLOTS_AT_ONCE]
            if len(slots) and element in (None, owner):
                element, chosen[host] = owner, slots
                own.since_s[slots] = now_s
                batch = max(batch, int(own.batch[slots].max()))
        return None if element is None else Leftover(element, chosen, batch)

    def released(self, element: Movable, slots_by_host: Mapping[str, Integers]) -> None:
        """These are gone, but for slots that are needed again by now."""
        for host, slots in slots_by_host.items():
            if (element, host) in self._left:
                since_s = self._left[element, host].since_s
                since_s[slots[np.isfinite(since_s[slots])]] = _NOTHING


def needed_slots(placements: Mapping[Movable, Placement], moves_by_element: Mapping[Movable, Moves]) -> Needed:
    """The slots that hosts serve, and those that are on their way to them, by element and host."""
    found: dict[Movable, dict[str, list[int]]] = {}
    for element, placement in placements.items():
        by_host = slots_by_host(dict(enumerate(hosts_of_slots(placement, element.slots))))
        for host, slots in slots_by_host(moves_by_element.get(element, {})).items():
            by_host[host] = [*by_host.get(host, []), *slots]
        found[element] = by_host
    return found
