"""Manifests: one small file per batch, published by renaming, that names everything of the batch that counts.

A manifest has the heads of all slots and the entries that its batch added; every so many it has the whole ledger
instead, so that reading one back takes a bounded number of files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.errors import CorruptStateError, file_error
from penstock.host.atomic_file import Fence, no_fence, write_whole
from penstock.state.checkpoint.checksum import checksum
from penstock.state.checkpoint.entries import ENTRY, HEAD, Entries, Heads
from penstock.state.checkpoint.ledger import Ledger

FULL_EVERY_BATCHES = 64
Parts = Mapping[str, Sequence[str]]  # by sink, what the sink finds them by
_MAGIC = b"PSTKMAN1"
_SUFFIX = ".manifest"


@dataclass(frozen=True, slots=True, eq=False)
class OperatorPage:
    """An operator's part of a manifest; `entries` is the batch's, or all where the manifest is full."""

    heads: Heads
    entries: Entries


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """What counts after a batch; `previous` is the batch before it that has a manifest, None at the first.

    `parts` are what sinks deliver of the batch, by sink; None where nobody has staged them, so that the batch has to be
    computed again if it was not delivered (manifests of earlier versions).
    """

    batch: int
    epoch: int
    previous: int | None
    is_full: bool
    pages: Mapping[str, OperatorPage]
    parts: Parts | None = None


class Manifests:
    """The manifests of one checkpoint."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def publish(
        self,
        batch: int,
        epoch: int,
        before: Mapping[str, Ledger],
        added: Mapping[str, Entries],
        *,
        previous: int | None,
        durable: bool = False,
        fence: Fence = no_fence,
        parts: Parts | None = None,
    ) -> dict[str, Ledger]:
        """Makes a batch's entries count and gives the ledgers after it; publishing a batch again replaces it.

        The `fence` raises where another driver has taken over.
        """
        after = {name: ledger.after(added[name]) if name in added else ledger for name, ledger in before.items()}
        is_full = previous is None or batch % FULL_EVERY_BATCHES == 0
        empty = np.empty(0, ENTRY)
        pages = {
            name: OperatorPage(ledger.heads, ledger.entries if is_full else added.get(name, empty))
            for name, ledger in after.items()
        }
        data = _encoded(Manifest(batch, epoch, previous, is_full, pages, parts))
        write_whole("writing the manifest", self.path(batch), data, durable=durable, fence=fence)
        return after

    def forget(self, operators: Collection[str], *, durable: bool = False) -> None:
        """Has operators start empty after whatever batch counts; the state of all others stays."""
        after = {batch: (self.read(batch), self.ledgers(batch)) for batch in self.batches()}
        for batch, (manifest, ledgers) in sorted(after.items(), reverse=True):
            pages = {n: OperatorPage(own.heads, own.entries) for n, own in ledgers.items() if n not in operators}
            data = _encoded(Manifest(batch, manifest.epoch, manifest.previous, True, pages, manifest.parts))
            write_whole("writing the manifest", self.path(batch), data, durable=durable)

    def read(self, batch: int) -> Manifest:
        path = self.path(batch)
        try:
            with open(path, "rb") as file:
                manifest = _decoded(file.read(), path)
        except OSError as error:
            raise file_error("reading the manifest", path, error) from error
        if manifest.batch != batch:
            raise CorruptStateError(f"the manifest '{path}' is not what was written: it is that of {manifest.batch}")
        return manifest

    def ledgers(self, batch: int) -> dict[str, Ledger]:
        """The ledgers as they were after a batch."""
        newer = [self.read(batch)]
        while not newer[-1].is_full and newer[-1].previous is not None:
            newer.append(self.read(newer[-1].previous))
        ledgers = {name: Ledger(page.heads, (page.entries,)) for name, page in newer.pop().pages.items()}
        for manifest in reversed(newer):
            for name, page in manifest.pages.items():
                ledgers[name] = ledgers.get(name, Ledger.empty(len(page.heads))).after(page.entries)
        return ledgers

    def batches(self) -> list[int]:
        """All batches that have a manifest, ascending."""
        try:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            return []
        return sorted(int(name[: -len(_SUFFIX)]) for name in names if name.endswith(_SUFFIX))

    def remove(self, batch: int) -> None:
        """Has a batch not count any more; it must be the newest."""
        Path(self.path(batch)).unlink(missing_ok=True)

    def path(self, batch: int) -> str:
        return os.path.join(self.directory, f"{batch:012d}{_SUFFIX}")


def _encoded(manifest: Manifest) -> bytes:
    shape = {name: [len(page.heads), len(page.entries)] for name, page in manifest.pages.items()}
    about = {"batch": manifest.batch, "epoch": manifest.epoch, "previous": manifest.previous, "full": manifest.is_full}
    parts = {} if manifest.parts is None else {"parts": {name: list(own) for name, own in manifest.parts.items()}}
    text = json.dumps(about | {"pages": shape} | parts).encode()
    arrays = [array.tobytes() for page in manifest.pages.values() for array in (page.heads, page.entries)]
    body = len(text).to_bytes(8, "little") + text + b"".join(arrays)
    return _MAGIC + checksum(body).to_bytes(8, "little") + body


def _decoded(data: bytes, path: str) -> Manifest:
    body = data[16:]
    if data[:8] != _MAGIC or checksum(body) != int.from_bytes(data[8:16], "little"):
        raise CorruptStateError(f"the manifest '{path}' is not what was written: its checksum differs")
    place = 8 + int.from_bytes(body[:8], "little")
    about = json.loads(body[8:place])
    pages = {}
    for name, (slots, count) in about["pages"].items():
        heads = np.frombuffer(body, HEAD, slots, place)
        place += heads.nbytes
        pages[name] = OperatorPage(heads, np.frombuffer(body, ENTRY, count, place))
        place += count * ENTRY.itemsize
    parts = {name: tuple(own) for name, own in about["parts"].items()} if "parts" in about else None
    return Manifest(about["batch"], about["epoch"], about["previous"], about["full"], pages, parts)
