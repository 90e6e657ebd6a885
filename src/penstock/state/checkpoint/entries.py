"""What a task says it has written, slot by slot, and what a task must know of a slot before it begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.state.token import Token

# One piece of a slot's history: bytes [offset, offset + length) of the log file that its token names.  A whole one
# holds all of the slot, so that what was written before it no longer matters.
ENTRY = np.dtype(
    [
        ("slot", "<i4"),
        ("whole", "<i4"),
        ("epoch", "<i8"),
        ("batch", "<i8"),
        ("attempt", "<i8"),
        ("offset", "<i8"),
        ("length", "<i8"),
        ("checksum", "<u8"),
    ]
)
# A slot after some batch: its token (epoch 0: it never had any), and the size of the history that rebuilds it.
HEAD = np.dtype(
    [
        ("epoch", "<i8"),
        ("batch", "<i8"),
        ("attempt", "<i8"),
        ("pieces", "<i8"),
        ("bytes", "<i8"),
        ("oldest_batch", "<i8"),
    ]
)

Entries = npt.NDArray[Any]
Heads = npt.NDArray[Any]


def no_entries() -> Entries:
    return np.empty(0, ENTRY)


def no_heads(slots: int) -> Heads:
    """Slots that nothing was ever written to."""
    return np.zeros(slots, HEAD)


def tokens_of(heads: Heads, slots: npt.NDArray[np.int64]) -> dict[int, Token]:
    """The tokens of those of some slots that were ever written to."""
    written = slots[heads["epoch"][slots] > 0]
    fields = [heads[name][written].tolist() for name in ("epoch", "batch", "attempt")]
    return dict(zip(written.tolist(), map(Token, *fields), strict=True))


def token_of(entry: Any) -> Token:
    return Token(int(entry["epoch"]), int(entry["batch"]), int(entry["attempt"]))
