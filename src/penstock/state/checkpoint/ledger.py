"""The history of all slots of one operator up to a batch: which pieces of which files rebuild them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.errors import StateError
from penstock.state.checkpoint.entries import ENTRY, Entries, Heads, no_entries, no_heads
from penstock.state.extents import Integers

_PARTS_MAX = 64


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """The head of each slot, and the entries of batches one after the other, some of them superseded by whole ones.

    Adding a batch costs what the batch wrote, not what all slots ever wrote.
    """

    heads: Heads
    parts: tuple[Entries, ...]

    @classmethod
    def empty(cls, slots: int) -> Ledger:
        return cls(no_heads(slots), ())

    @property
    def slots(self) -> int:
        return len(self.heads)

    @property
    def entries(self) -> Entries:
        """All that is needed to rebuild all slots: by slot, oldest first."""
        entries = np.concatenate((no_entries(), *self.parts))
        entries = entries[entries["batch"] >= self.heads["oldest_batch"][entries["slot"]]]
        by_slot: Entries = entries[np.argsort(entries["slot"], kind="stable")]
        return by_slot

    def after(self, added: Entries) -> Ledger:
        """The ledger with the entries of one batch, at most one a slot."""
        if not len(added):
            return self
        self._check(added)
        parts = (*self.parts, added.astype(ENTRY, copy=False))
        later = Ledger(_heads_after(self.heads, added), parts)
        return later if len(parts) < _PARTS_MAX else Ledger(later.heads, (later.entries,))

    def history(self, slots: Integers) -> Entries:
        """The entries of some slots, oldest first."""
        wanted: npt.NDArray[np.bool_] = np.zeros(self.slots, np.bool_)
        wanted[slots] = True
        entries = self.entries
        found: Entries = entries[wanted[entries["slot"]]]
        return found

    def _check(self, added: Entries) -> None:
        slots = added["slot"]
        if slots.min() < 0 or slots.max() >= self.slots:
            raise StateError(f"an operator of {self.slots} slots has entries for slots {slots.min()} to {slots.max()}")
        counts = np.bincount(slots, minlength=self.slots)
        if counts.max() > 1:
            raise StateError(f"slot {int(counts.argmax())} was written by {int(counts.max())} tasks of one batch")
        late = added["batch"] <= self.heads["batch"][slots]
        if (late & (self.heads["pieces"][slots] > 0)).any():
            batch = int(added["batch"][late.argmax()])
            raise StateError(f"entries of batch {batch} came after the batch had been counted; read its ledger anew")


def _heads_after(heads: Heads, added: Entries) -> Heads:
    slots, later = added["slot"], heads.copy()
    begins = (added["whole"] == 1) | (heads["pieces"][slots] == 0)
    for name in ("epoch", "batch", "attempt"):
        later[name][slots] = added[name]
    later["pieces"][slots] = np.where(begins, 0, heads["pieces"][slots]) + 1
    later["bytes"][slots] = np.where(begins, 0, heads["bytes"][slots]) + added["length"]
    later["oldest_batch"][slots] = np.where(begins, added["batch"], heads["oldest_batch"][slots])
    return later
