"""Routes that balance the load: slots to replicas by measured load, moving as little as a given imbalance allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.model.throughput import work_by_replica

Floats = npt.NDArray[np.float64]
_EXCHANGES = 4  # for each replica, at most
_FURTHER = 1e-3  # of the ceiling: what one more slot may move for
DEFAULT_IMBALANCE = 0.05  # record 0032: fewer replicas and violations than 0.1, for more slots moved


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """A new route, which slots it moves, and the busiest replica over the mean after it."""

    route: tuple[int, ...]
    moved: tuple[int, ...]
    imbalance: float


def imbalance(
    route: Sequence[int] | npt.NDArray[np.int64], load_by_slot: Sequence[float] | Floats, replicas: int
) -> float:
    """The busiest replica's load over the mean; 1 where there is no load."""
    loads = work_by_replica(load_by_slot, route, replicas)
    mean = float(loads.mean())
    return float(loads.max()) / mean if mean > 0 else 1.0


def rebalance(
    route: Sequence[int], load_by_slot: Sequence[float], replicas: int, allowed: float = DEFAULT_IMBALANCE
) -> Rebalanced:
    """The route with no replica more than `allowed` above the mean where slots permit it, and few slots moved.

    Slots of replicas that are gone must move.  From each replica that has too much, slots are taken off.  Then the
    largest go first, each to the replica with the least load.  Where that
    misses the bound, slots are exchanged one by one; where that misses it, too, a full packing (largest first) is used
    if it is clearly better.
    """
    loads = np.asarray(load_by_slot, np.float64)
    if not loads.sum() > 0:
        loads = np.ones(len(loads))  # nothing was measured: all alike
    old = np.asarray(route, np.int64)
    ceiling = max((1 + allowed) * loads.sum() / replicas, loads.max())
    new = _placed(old, loads, _taken_off(old, loads, replicas, ceiling), replicas)
    new = _evened(old, new, loads, replicas, ceiling)
    if work_by_replica(loads, new, replicas).max() > ceiling * (1 + 1e-12):
        packed = _placed(old, loads, list(range(len(loads))), replicas)
        if imbalance(packed, loads, replicas) < imbalance(new, loads, replicas) - max(allowed / 2, 1e-12):
            new = packed
    moved = tuple(int(slot) for slot in np.flatnonzero(new != old))
    return Rebalanced(tuple(int(r) for r in new), moved, imbalance(new, loads, replicas))


def _taken_off(old: npt.NDArray[np.int64], loads: Floats, replicas: int, ceiling: float) -> list[int]:
    """Slots to be placed anew: those of replicas that are gone, and what is too much on the others."""
    taken = [int(slot) for slot in np.flatnonzero(old >= replicas)]
    for replica in range(replicas):
        own = np.flatnonzero(old == replica)
        excess = float(loads[own].sum()) - ceiling
        while excess > 1e-12 * ceiling and len(own) > 1:
            slot = _best_to_take(own, loads, excess)
            taken.append(slot)
            excess -= float(loads[slot])
            own = own[own != slot]
    return taken


def _best_to_take(own: npt.NDArray[np.int64], loads: Floats, excess: float) -> int:
    """The smallest slot that covers the excess alone; else the one with the most load; of equals the first."""
    enough = own[loads[own] >= excess]
    if len(enough):
        return int(enough[np.argmin(loads[enough])])
    return int(own[np.argmax(loads[own])])


def _placed(old: npt.NDArray[np.int64], loads: Floats, slots: list[int], replicas: int) -> npt.NDArray[np.int64]:
    """Slots on the replica with the least load, largest first; of equals the old one, so that ties do not move."""
    new = old.copy()
    stay = np.ones(len(loads), bool)
    stay[slots] = False
    totals = np.bincount(old[stay], loads[stay], minlength=replicas)[:replicas].astype(np.float64)
    for slot in sorted(slots, key=lambda s: (-loads[s], s)):
        least = float(totals.min())
        keeps = old[slot] < replicas and totals[old[slot]] <= least
        choice = int(old[slot]) if keeps else int(np.argmin(totals))
        new[slot] = choice
        totals[choice] += loads[slot]
    return new


def _evened(
    old: npt.NDArray[np.int64], new: npt.NDArray[np.int64], loads: Floats, replicas: int, ceiling: float
) -> npt.NDArray[np.int64]:
    """With slots moved or exchanged between the busiest replica and others, while any is above the ceiling."""
    new = new.copy()
    for _ in range(_EXCHANGES * replicas):
        totals = work_by_replica(loads, new, replicas)
        busiest = int(np.argmax(totals))
        if totals[busiest] <= ceiling * (1 + 1e-12):
            break
        exchange = _best_exchange(old, new, loads, totals, busiest, ceiling)
        if exchange is None:
            break
        given, taken, target = exchange
        new[given] = target
        if taken is not None:
            new[taken] = busiest
    return new


def _best_exchange(
    old: npt.NDArray[np.int64], new: npt.NDArray[np.int64], loads: Floats, totals: Floats, busiest: int, ceiling: float
) -> tuple[int, int | None, int] | None:
    """A slot of the busiest replica, one that comes back for it (or none), and the other replica.

    The one that leaves the least above the ceiling, of these the one that moves the fewest slots further.
    """
    own, others = np.flatnonzero(new == busiest), np.flatnonzero(new != busiest)
    targets = np.delete(np.arange(len(totals)), busiest)
    back = np.concatenate([loads[others], np.zeros(len(targets))])
    to = np.concatenate([new[others], targets])
    moves = loads[own][:, None] - back[None, :]
    peak = np.maximum(totals[busiest] - moves, totals[to][None, :] + moves)
    further = (new[own] == old[own]).astype(np.float64)[:, None] - (old[own][:, None] == to[None, :])
    further[:, : len(others)] += (new[others] == old[others]).astype(np.float64) - (old[others] == busiest)
    cost = np.maximum(peak / ceiling, 1.0) + _FURTHER * further
    cost[peak >= totals[busiest] * (1 - 1e-9)] = np.inf
    if not cost.size or not np.isfinite(cost.min()):
        return None
    row, column = np.unravel_index(int(np.argmin(cost)), cost.shape)
    taken = int(others[column]) if column < len(others) else None
    return int(own[row]), taken, int(to[column])
