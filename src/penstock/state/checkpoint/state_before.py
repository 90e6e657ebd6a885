"""What a task must know of its operator's state before it begins: what the manifest of the batch before it says."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.state.checkpoint.entries import Entries, Heads, no_entries, no_heads
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.extents import Integers


@dataclass(frozen=True, slots=True)
class StateBefore:
    """An operator's state after a batch, read from the checkpoint; `batch` None is before the first.

    `store.open(slots, before.heads(), before.history, token)`: the first reads one small file, the second is called
    only where a slot has to be rebuilt.
    """

    manifests_directory: str
    batch: int | None
    operator: str
    slots: int

    def heads(self) -> Heads:
        if self.batch is None:
            return no_heads(self.slots)
        pages = Manifests(self.manifests_directory).read(self.batch).pages
        return pages[self.operator].heads if self.operator in pages else no_heads(self.slots)

    def history(self, slots: Integers) -> Entries:
        if self.batch is None:
            return no_entries()
        ledgers = Manifests(self.manifests_directory).ledgers(self.batch)
        return ledgers[self.operator].history(slots) if self.operator in ledgers else no_entries()
