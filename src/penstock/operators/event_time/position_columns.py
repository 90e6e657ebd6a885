"""Positions of tuples as columns, so that a window can keep that of each group's oldest tuple."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.block.block import Block
from penstock.block.column import FixedColumn
from penstock.block.position import ABSENT, Integers
from penstock.plan.elements.position_depth import ROOT_LEVELS


def arrival_types(depth: int) -> tuple[np.dtype[Any], ...]:
    """The types of the columns for positions of so many levels."""
    return (np.dtype(np.float64), *(np.dtype(np.int64),) * (ROOT_LEVELS - 1 + depth))


def arrival_columns(block: Block, depth: int) -> list[FixedColumn]:
    """Stamp, place, sequence and levels of each tuple."""
    assert block.position is not None
    position = block.position.pad(depth, ABSENT)
    integers = (position.place, position.sequence, *position.levels[:depth])
    return [FixedColumn(position.stamp, pa.float64()), *(FixedColumn(level, pa.int64()) for level in integers)]


def ascending_bits(stamps: npt.NDArray[np.float64]) -> Integers:
    """Integers in the order of floats."""
    bits = (stamps + 0.0).view(np.int64)  # -0.0 + 0.0 is 0.0
    ascending: Integers = bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))
    return ascending
