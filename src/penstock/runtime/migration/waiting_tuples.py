"""Tuples that were taken from the sources and wait in the checkpoint for the state of their slot to arrive.

Deferred tuples are kept by slot, by the replica that will process them; held tuples in one place, by the splitter.
Both are objects in logs like other state, so a manifest that counts a batch counts what it left waiting.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.state.checkpoint.checkpoint import Checkpoint, Fixed
from penstock.state.checkpoint.entries import Heads
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.logs import Logs
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.extents import Integers
from penstock.state.rows.blob_store import BlobStore

_DEFERRED, _HELD = "@deferred-", "@held-"  # before an element's name: names of state in manifests and logs
_NOTHING_BYTES = 8  # the length of an object that was logged as nothing


@dataclass(frozen=True, slots=True)
class Waiting:
    """A sealed block that waits: its stream, the number it was sent with, and the source's offsets it may be of."""

    stream: str
    sequence: int
    offsets: int
    tuples: int
    payload: bytes


Waited = tuple[Waiting, ...]


def deferred_name(element: str) -> str:
    return _DEFERRED + element


def held_name(element: str) -> str:
    return _HELD + element


def is_waiting_name(name: str) -> bool:
    return name.startswith((_DEFERRED, _HELD))


def element_of(name: str) -> str:
    """The element whose tuples wait under a name."""
    return name.removeprefix(_DEFERRED).removeprefix(_HELD)


def is_held_name(name: str) -> bool:
    return name.startswith(_HELD)


def waiting_store(checkpoint: Checkpoint, fixed: Fixed, name: str, slots: int) -> BlobStore:
    return BlobStore(slots, Logs(checkpoint.logs(name), fixed.durable), _dumps)


def waiting_slots(heads: Heads) -> Integers:
    """The slots that something waits for: what was logged of them last is not nothing."""
    return np.flatnonzero((heads["pieces"] > 0) & (heads["bytes"] > _NOTHING_BYTES))


def has_waiting(checkpoint: Checkpoint) -> bool:
    """Whether tuples wait after the newest batch that counts."""
    manifests = Manifests(checkpoint.manifests)
    batches = manifests.batches()
    pages = manifests.read(batches[-1]).pages if batches else {}
    return any(is_waiting_name(name) and len(waiting_slots(page.heads)) for name, page in pages.items())


def elements_with_waiting(ledgers: Mapping[str, Ledger]) -> set[str]:
    """The elements for which tuples wait."""
    return {
        element_of(name)
        for name, ledger in ledgers.items()
        if is_waiting_name(name) and len(waiting_slots(ledger.heads))
    }


def elements_with_held(ledgers: Mapping[str, Ledger]) -> set[str]:
    """The elements whose tuples the splitter holds."""
    return elements_with_waiting({name: ledger for name, ledger in ledgers.items() if is_held_name(name)})


def _dumps(waited: Waited) -> bytes:
    return pickle.dumps(waited, protocol=5) if waited else b""
