"""Files of the checkpoint that no rebuild can need any more."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

import numpy as np

from penstock.state.checkpoint.entries import token_of
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.logs import Logs
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.token import Token


def collect_garbage(
    manifests: Manifests, logs: Mapping[str, Logs], ledgers: Mapping[str, Ledger], oldest_batch: int
) -> int:
    """Deletes what is not needed to rebuild any batch from `oldest_batch` on, whose ledgers are given; counts files.

    The oldest batch that a replay may need is the one before the last that Spark has committed.
    """
    needed = {logs[name].path(token) for name, ledger in ledgers.items() for token in _tokens(ledger)}
    unneeded = [
        path for own in logs.values() for batch, path in own.names() if batch <= oldest_batch and path not in needed
    ]
    unneeded += [manifests.path(batch) for batch in _unneeded_manifests(manifests, oldest_batch)]
    for path in unneeded:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    return len(unneeded)


def _tokens(ledger: Ledger) -> list[Token]:
    names = ["epoch", "batch", "attempt"]
    return [token_of(entry) for entry in np.unique(ledger.entries[names])]


def _unneeded_manifests(manifests: Manifests, oldest_batch: int) -> list[int]:
    """Those before the full one from which the oldest batch's ledgers are read."""
    batches = manifests.batches()
    if oldest_batch not in batches:
        return []
    full = manifests.read(oldest_batch)
    while not full.is_full and full.previous is not None:
        full = manifests.read(full.previous)
    return [batch for batch in batches if batch < full.batch]
