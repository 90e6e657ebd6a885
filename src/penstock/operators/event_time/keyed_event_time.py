"""Base for keyed event-time operators with a broadcast watermark: state that is taken out and put in by slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from penstock.block.block import Block
from penstock.block.column import Mask
from penstock.block.plain_columns import Pieces, Plain, column_from
from penstock.block.position import Integers
from penstock.kernels.keys.key_ids import KeyIndex
from penstock.operators.protocol import OperatorRuntime
from penstock.state.slots.slot_functions import SlotFunction

SlotState = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SideInput:
    """What a replica gets of a micro-batch besides the tuples of its slots.

    `ticks` by input, punctuations too; of split slots the `partials` of keys that it owns, and `shares` of tuples to be
    checked.  The one replica that `passes_marks` sends the punctuations on, which all receive.
    """

    ticks: Mapping[int, Sequence[Block]] = field(default_factory=dict)
    partials: Sequence[Block] = ()
    shares: Sequence[Block] = ()
    passes_marks: bool = True


class KeyedEventTimeOperator(OperatorRuntime, Protocol):
    """An operator that serves some slots, and follows the watermark of the whole stream."""

    @property
    def key_count(self) -> int:
        """How many keys it has numbered, those whose windows have gone included."""
        ...

    def take_side_input(self, given: SideInput) -> None:
        """What goes with the tuples of the next micro-batch."""
        ...

    def changed(self, slots: Integers) -> Integers:
        """Those of its slots whose state is another than when this was asked the last time."""
        ...

    def export_slots(self, slots: Integers) -> dict[int, SlotState]:
        """The state of some slots, each of which can be pickled by itself."""
        ...

    def restore_slots(self, states: Iterable[SlotState]) -> None:
        """A new operator goes on from the states of its slots."""
        ...


class KeyedSlots:
    """The slot of every key of an index, and which of them were touched."""

    def __init__(self, keys: KeyIndex, slots: SlotFunction) -> None:
        self._keys, self._slots = keys, slots
        self._known: Integers = np.zeros(0, np.int64)
        self._touched: Mask = np.zeros(0, np.bool_)  # by key

    def by_key(self) -> Integers:
        first, count = len(self._known), self._keys.count
        if first < count:
            columns = self._keys.columns(np.arange(first, count, dtype=np.int32))
            new = self._slots.slots_of(list(columns), count - first)
            self._known = np.concatenate([self._known, new.astype(np.int64)])
        return self._known

    def touch(self, keys: npt.NDArray[np.integer]) -> None:
        if self._keys.count > len(self._touched):
            self._touched = np.append(self._touched, np.zeros(2 * self._keys.count - len(self._touched), np.bool_))
        self._touched[keys] = True

    def touched(self) -> Integers:
        """The slots of keys that were touched since this was asked the last time."""
        keys = np.flatnonzero(self._touched)
        self._touched[:] = False
        found: Integers = np.unique(self.by_key()[keys])
        return found

    def key_pieces(self, keys: Integers) -> list[Pieces]:
        """The columns of keys, to be given piece by piece."""
        return [Pieces(column) for column in self._keys.columns(keys.astype(np.int32))]

    def assign(self, pieces: Sequence[Plain], rows: int) -> Integers:
        """The ids of keys that come from a slot's state."""
        columns = [column_from(plain, type_) for plain, type_ in zip(pieces, self._keys.types, strict=True)]
        return self._keys.assign(columns, rows).astype(np.int64)


def runs_by_slot(slot_of_row: Integers, slots: Integers) -> tuple[Integers, Iterator[tuple[int, int, int]]]:
    """Rows of some slots, by slot and else in order, and (slot, start, stop) among them for each of the slots."""
    order = np.argsort(slot_of_row, kind="stable")
    ordered = slot_of_row[order]
    starts, stops = np.searchsorted(ordered, slots), np.searchsorted(ordered, slots, side="right")
    return order, zip(slots.tolist(), starts.tolist(), stops.tolist(), strict=True)
