"""Slots so heavy that replicas no longer help, and what does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


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


def heaviest_slot(load_by_slot: Sequence[float], period_s: float) -> HotSlot | None:
    """From seconds of work by slot within a step; None where there was none.

    Capacity goes with 1 / max(heaviest share, 1 / n): from n = 1 / share on, the heaviest slot alone sets the pace.
    """
    total = sum(load_by_slot)
    if total <= 0:
        return None
    slot = max(range(len(load_by_slot)), key=load_by_slot.__getitem__)
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


def split_replicas(hot: HotSlot, target_utilization: float = 0.8) -> int:
    """Over how many replicas the first of two stages spreads a hot slot."""
    return max(math.ceil(hot.utilization / target_utilization), 1)
