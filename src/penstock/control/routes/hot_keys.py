"""Slots so heavy that replicas no longer help, and what does."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass

TARGET_UTILIZATION = 0.8


@dataclass(frozen=True, slots=True)
class HotSlot:
    """The heaviest slot: its share of the load, how busy it alone keeps a replica, the most replicas worth having."""

    slot: int
    share: float
    utilization: float
    highest_useful_replicas: int

    @property
    def exceeds_a_replica(self) -> bool:
        return self.utilization > 1.0


def heaviest_slot(load_by_slot: Sequence[float], period_s: float, split: Container[int] = ()) -> HotSlot | None:
    """From seconds of work by slot within a step, of the slots that are not split; None where there was none.

    Capacity goes with 1 / max(heaviest share, 1 / n): from n = 1 / share on, the heaviest slot alone sets the pace.
    """
    total = sum(load_by_slot)
    whole = [0.0 if slot in split else load for slot, load in enumerate(load_by_slot)] if split else load_by_slot
    heaviest = max(whole, default=0.0)
    if total <= 0 or heaviest <= 0:
        return None
    slot = whole.index(heaviest)
    share = load_by_slot[slot] / total
    return HotSlot(slot, share, load_by_slot[slot] / period_s, max(math.ceil(1 / share - 1e-9), 1))


def advice(hot: HotSlot, element: str, *, splits: bool) -> str:
    """What to tell the user; `splits`: the element's windows are tumbling or by time, its aggregates decomposable."""
    text = (
        f"element '{element}': slot {hot.slot} has {hot.share:.0%} of the load, so that more than "
        f"{hot.highest_useful_replicas} replicas do not help"
    )
    if not hot.exceeds_a_replica:
        return text
    if splits:
        return f"{text}; it exceeds a replica, and its aggregates can be computed in two stages"
    return f"{text}; it exceeds a replica, and its windows cannot be split"


def slots_to_split(
    load_by_slot: Sequence[float], replicas: int, offered_ratio: float | None, split: Sequence[int] = ()
) -> tuple[int, ...]:
    """The slots whose load is to be spread over all replicas.

    A slot is split when it alone has more than an even share of the load, so that no route balances it, and the busiest
    replica needs relief (`offered_ratio`: the utilization that arrivals ask of it).  It is whole again when it has less
    than half an even share, or there is one replica.
    """
    total = sum(load_by_slot)
    if replicas == 1 or total <= 0:
        return ()
    even = total / replicas
    needed = offered_ratio is not None and offered_ratio > TARGET_UTILIZATION
    remaining = {slot for slot in split if load_by_slot[slot] > 0.5 * even}
    hot = {slot for slot, load in enumerate(load_by_slot) if needed and load > even}
    return tuple(sorted(remaining | hot))
