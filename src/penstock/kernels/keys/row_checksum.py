"""A checksum over tuples that does not depend on their order or on how they were cut into blocks."""

from __future__ import annotations

import numpy as np

from penstock.block.block import Block
from penstock.kernels.keys.hashing import hash_columns

_MASK = (1 << 64) - 1


def checksum_of(block: Block) -> int:
    """The sum of all rows' hashes, modulo 2^64."""
    if not block.rows:
        return 0
    return int(np.sum(hash_columns(block.columns, block.rows), dtype=np.uint64))


def add_checksums(one: int, other: int) -> int:
    return (one + other) & _MASK
