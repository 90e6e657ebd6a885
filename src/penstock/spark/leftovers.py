"""Rows of slots on hosts that no longer serve them: kept for a while, since slots often come back, then given up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.element.state.extents import Integers
from penstock.plan.moves import Moves, hosts_of_slots, slots_by_host
from penstock.plan.placement import Placement
from penstock.spark.copies import Movable

KEPT_S = 300.0
_NOTHING, _NEEDED = np.nan, np.inf

Needed = Mapping[Movable, Mapping[str, list[int]]]


@dataclass(frozen=True, slots=True, eq=False)
class Leftover:
    """Slots of an element whose memory some hosts can have back."""

    element: Movable
    slots_by_host: Mapping[str, Integers]


class Leftovers:
    """Since when each slot has rows on a host for nothing, by element and host."""

    def __init__(self) -> None:
        self._since_s: dict[tuple[Movable, str], npt.NDArray[np.float64]] = {}

    def note(self, needed: Needed, hosts: set[str], now_s: float) -> None:
        """From now on hosts need these slots and no others; of hosts and elements that are gone nothing is left."""
        for key in [key for key in self._since_s if key[0] not in needed or key[1] not in hosts]:
            del self._since_s[key]
        for element, by_host in needed.items():
            for host in hosts if element.operators else ():
                since_s = self._since_s.setdefault((element, host), np.full(element.slots, _NOTHING))
                is_needed = np.zeros(element.slots, np.bool_)
                is_needed[by_host.get(host, [])] = True
                since_s[~is_needed & np.isinf(since_s)] = now_s
                since_s[is_needed] = _NEEDED

    def due(self, now_s: float) -> Leftover | None:
        """What one element has left for long enough; the time begins anew, so that a job that fails has another."""
        chosen: dict[str, Integers] = {}
        own: Movable | None = None
        for (element, host), since_s in self._since_s.items():
            slots = np.flatnonzero(now_s - since_s >= KEPT_S)
            if len(slots) and own in (None, element):
                own, chosen[host] = element, slots
                since_s[slots] = now_s
        return None if own is None else Leftover(own, chosen)

    def released(self, leftover: Leftover) -> None:
        """It is gone, but for slots that are needed again by now."""
        for host, slots in leftover.slots_by_host.items():
            since_s = self._since_s.get((leftover.element, host))
            if since_s is not None:
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
