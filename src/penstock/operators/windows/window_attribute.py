"""The attribute a time or delta window runs on, as numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.app.windows import MICROSECONDS, Window
from penstock.block.block import Block
from penstock.block.column import FixedColumn, Mask
from penstock.block.dead_letters import DeadLetters

_MOST_SECONDS = 2.0**62 / MICROSECONDS  # seconds beyond this have no place among int64 microseconds


def window_values(block: Block, window: Window) -> npt.NDArray[np.float64]:
    """Microseconds for a time window, the attribute itself (timestamps in seconds) for a delta window, else zeros."""
    if window.on is None:
        return np.zeros(block.rows)
    column = block.column(window.on)
    assert isinstance(column, FixedColumn)
    values = column.values.astype(np.float64)
    if pa.types.is_timestamp(column.type):
        return values if window.measure == "time" else values / MICROSECONDS
    if window.measure != "time":
        return values
    with np.errstate(over="ignore"):  # beyond `with_value`
        return np.round(values * MICROSECONDS)


def event_times_us(block: Block, window: Window) -> npt.NDArray[np.int64]:
    """Microseconds since the epoch for a time window; any number where a tuple has no value (`with_value`)."""
    assert window.on is not None
    column = block.column(window.on)
    if isinstance(column, FixedColumn) and pa.types.is_timestamp(column.type):
        return column.values
    with np.errstate(invalid="ignore"):
        return window_values(block, window).astype(np.int64)


def with_value(block: Block, window: Window) -> Mask | None:
    """Which tuples have a value for the window to run on; None where all have."""
    if window.on is None or not block.rows:
        return None
    column = block.column(window.on)
    assert isinstance(column, FixedColumn)
    if column.valid is None and pa.types.is_timestamp(column.type):
        return None
    good = np.isfinite(column.values)
    if window.measure == "time" and not pa.types.is_timestamp(column.type):
        good &= np.abs(column.values.astype(np.float64)) < _MOST_SECONDS
    if column.valid is not None:
        good &= column.valid
    return None if good.all() else good


def without_missing(block: Block, window: Window, operator: str, letters: DeadLetters) -> Block:
    """The block less the tuples that have no value for the window to run on; those become dead letters."""
    good = with_value(block, window)
    if good is None:
        return block
    letters.add_rows(
        operator, f"has no number in '{window.on}', on which its window runs", block, np.flatnonzero(~good)
    )
    rows = np.flatnonzero(good)
    result = block.take(rows)
    result.punctuations = None if block.punctuations is None else block.punctuations.through(rows)
    return result
