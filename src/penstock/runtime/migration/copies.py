"""How far the copies of moving slots have come, and what is to be copied next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.host.low_priority import LEAST_PRIORITY
from penstock.plan.placement.moves import Moves, slots_by_host
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.extents import Integers

PORTION_BYTES = 16 << 20  # of logs, that one job reads on a host: for so long it holds a task slot
SLOW_S = 3.0  # a portion that takes longer finds its host busy
SMALL_BYTES = 1 << 20  # so little is left to the first task
_PATIENCE = (
    6  # times the bytes of the slots: a copy that is still behind then does not catch up; also failures in a row
)


@dataclass(frozen=True, slots=True)
class Movable:
    """An element whose slots can go to other hosts; `operators` are those whose state is rows on a host."""

    name: str
    number: int
    operators: tuple[str, ...]
    slots: int
    can_defer: bool = False
    can_hold: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """What counts after a batch."""

    batch: int
    ledgers: Mapping[str, Ledger]


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """One job: slots of an element to be brought, on the hosts they go to, to the state after a batch."""

    element: Movable
    batch: int
    slots_by_host: Mapping[str, Integers]
    niceness: int = 0


@dataclass(slots=True)
class _Effort:
    """What one element's copy has cost; `whole_bytes` is what it lacked at first."""

    whole_bytes: int
    spent_bytes: int = 0
    failures: int = 0
    niceness: int = LEAST_PRIORITY

    @property
    def is_in_vain(self) -> bool:
        return self.failures >= _PATIENCE or self.spent_bytes > _PATIENCE * max(self.whole_bytes, PORTION_BYTES)


class Copies:
    """The copies of all elements; what counts comes in, portions go out."""

    def __init__(self) -> None:
        self._wanted: dict[Movable, Moves] = {}
        self._copied: dict[tuple[str, str], Integers] = {}  # by element and host: up to which batch each slot is there
        self._efforts: dict[str, _Effort] = {}

    def want(self, moves_by_element: Mapping[Movable, Moves], hosts: set[str]) -> None:
        """From now on these slots are to be copied, and no others; of hosts that are gone nothing is known any more."""
        wanted = {element: moves for element, moves in moves_by_element.items() if moves}
        same = {element.name for element, moves in wanted.items() if self._wanted.get(element) == moves}
        self._efforts = {name: effort for name, effort in self._efforts.items() if name in same}
        self._wanted, names = wanted, {element.name for element in wanted}
        self._copied = {key: own for key, own in self._copied.items() if key[0] in names and key[1] in hosts}

    def next_portion(self, published: Published) -> Portion | None:
        """So many bytes of what the first element that is behind lacks on each host."""
        for element, moves in self._wanted.items():
            lacking = self._lacking_bytes(element, moves, published, published.batch)
            effort = self._efforts.setdefault(element.name, _Effort(int(lacking.sum())))
            chosen = {host: _first_bytes(lacking, slots) for host, slots in slots_by_host(moves).items()}
            chosen = {host: slots for host, slots in chosen.items() if len(slots)}
            if chosen and not effort.is_in_vain:
                effort.spent_bytes += sum(int(lacking[slots].sum()) for slots in chosen.values())
                return Portion(element, published.batch, chosen, effort.niceness)
        return None

    def left(self, published: Published) -> dict[str, tuple[int, int]]:
        """By element, the slots that are on their way and the bytes that they lack."""
        return {
            element.name: (len(moves), int(self._lacking_bytes(element, moves, published, published.batch).sum()))
            for element, moves in self._wanted.items()
        }

    def note(self, portion: Portion, done: Mapping[str, Integers], took_s: float = 0.0) -> None:
        """A portion was run: so far have these slots come, and where hosts leave it no time, the next one pushes."""
        effort = self._efforts.get(portion.element.name)
        if effort is not None and took_s > SLOW_S:
            effort.niceness = portion.niceness // 2
        if portion.element in self._wanted:
            for host, slots in done.items():
                self._batches(portion.element, host)[slots] = portion.batch
            self._failed(portion, is_so=not any(len(slots) for slots in done.values()))

    def failed(self, portion: Portion) -> None:
        """A portion's job failed; another one comes, up to a bound."""
        self._failed(portion, is_so=True)

    def forget(self, element: Movable, slots_by_host: Mapping[str, Integers]) -> None:
        """These hosts have nothing of these slots any more."""
        for host, slots in slots_by_host.items():
            if (element.name, host) in self._copied:
                self._copied[element.name, host][slots] = -1

    def is_ready(self, element: Movable, moves: Moves, published: Published, lag: int) -> bool:
        """Whether slots lack at most the newest `lag` batches, or next to nothing, or the copy does not get nearer."""
        if element.name in self._efforts and self._efforts[element.name].is_in_vain:
            return True
        lacking = self._lacking_bytes(element, moves, published, published.batch - lag)
        return int(lacking.sum()) <= SMALL_BYTES

    def _lacking_bytes(self, element: Movable, moves: Moves, published: Published, until: int) -> Integers:
        """By slot, what the host it comes to lacks of the logs up to a batch."""
        copied, total = np.full(element.slots, -1, np.int64), np.zeros(element.slots, np.int64)
        for host, slots in slots_by_host(moves).items():
            copied[slots] = self._batches(element, host)[slots]
        for name in element.operators:
            if moves and name in published.ledgers:
                ledger = published.ledgers[name]  # of one slot for an operator without a key
                entries = ledger.history(np.array([slot for slot in sorted(moves) if slot < ledger.slots], np.int64))
                entries = entries[(entries["batch"] > copied[entries["slot"]]) & (entries["batch"] <= until)]
                total += np.bincount(entries["slot"], entries["length"], element.slots).astype(np.int64)
        return total

    def _batches(self, element: Movable, host: str) -> Integers:
        return self._copied.setdefault((element.name, host), np.full(element.slots, -1, np.int64))

    def _failed(self, portion: Portion, *, is_so: bool) -> None:
        effort = self._efforts.get(portion.element.name)
        if effort is not None:
            effort.failures = effort.failures + 1 if is_so else 0


def _first_bytes(lacking_bytes: Integers, slots: list[int]) -> Integers:
    """The first of some slots that lack something, up to so many bytes and one at least."""
    own: Integers = np.array(slots, np.int64)
    own = own[lacking_bytes[own] > 0]
    before = np.cumsum(lacking_bytes[own]) - lacking_bytes[own]
    return own[before < PORTION_BYTES]
