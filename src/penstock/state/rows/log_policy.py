"""Which slots a task writes whole: the choice that bounds how long a rebuild takes and how old a log file may get."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.state.checkpoint.entries import Heads
from penstock.state.extents import Integers

PIECES_MAX = 512
AGE_MAX_BATCHES = 1024
_GOLDEN = 0.6180339887498949


def whole_slots(
    slots: Integers, heads: Heads, change_bytes: Integers, whole_bytes: Integers, batch: int
) -> npt.NDArray[np.bool_]:
    """Whether each slot is to be written whole in this batch.

    A change that is nearly everything, a history twice as long as the slot itself, one of too many pieces, or one whose
    oldest piece would keep an old file alive (even where nothing changed).  Each slot has its own limit, so that those
    which grow alike do not all come in one batch.
    """
    spread = (slots * _GOLDEN) % 1.0
    changed = change_bytes > 0
    nearly_all = 2 * change_bytes >= whole_bytes
    too_long = heads["bytes"] + change_bytes >= whole_bytes * (1.5 + spread)
    too_many = heads["pieces"] >= PIECES_MAX * (0.5 + 0.5 * spread)
    too_old = (heads["pieces"] > 0) & (batch - heads["oldest_batch"] >= AGE_MAX_BATCHES * (0.5 + 0.5 * spread))
    return changed & (nearly_all | too_long | too_many) | too_old
