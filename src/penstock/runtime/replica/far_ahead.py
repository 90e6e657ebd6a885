"""Tuples whose event time is too far ahead of the time at which their micro-batch was planned."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.app.operators import Source
from penstock.app.windows import MICROSECONDS
from penstock.block.block import Block
from penstock.block.column import FixedColumn
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.source_kinds import replayable


def without_far_ahead(block: Block, source: Source, planned_s: float, letters: DeadLetters) -> Block:
    """The block less the tuples that would end windows long before their time; those become dead letters.

    Event times of traces have nothing to do with the clock on the wall.
    """
    if source.event_time is None or source.max_ahead_s is None or replayable(source.connector) is not None:
        return block
    column = block.column(source.event_time)
    assert isinstance(column, FixedColumn)
    latest = planned_s + source.max_ahead_s
    is_timestamp = pa.types.is_timestamp(column.type)
    is_ahead = column.values > (int(latest * MICROSECONDS) if is_timestamp else latest)
    if column.valid is not None:
        is_ahead &= column.valid
    if not is_ahead.any():
        return block
    reason = (
        f"has an event time '{source.event_time}' more than {source.max_ahead_s:g} s ahead of the time at which its "
        "micro-batch was planned"
    )
    letters.add_rows(source.name, reason, block, np.flatnonzero(is_ahead))
    return block.take(np.flatnonzero(~is_ahead))
