"""What a task says of the partitions of sources: how many tuples came, and their highest event time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.app.operators import Source
from penstock.app.windows import MICROSECONDS
from penstock.block.block import Block
from penstock.block.column import FixedColumn
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message
from penstock.runtime.replica.source_rows import partition_of

ARRIVAL = np.dtype([("partition", "<i8"), ("tuples", "<i8"), ("highest_s", "<f8")])
Arrivals = npt.NDArray[Any]
NEVER_S = float("-inf")  # the highest event time where there is none


class TaskArrivals:
    """Counts the tuples of some sources by partition."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[int, float]] = {}

    def add(self, source: Source, start: int, block: Block) -> None:
        key = source.name, partition_of(source, start)
        tuples, highest_s = self._found.get(key, (0, NEVER_S))
        self._found[key] = tuples + block.rows, max(highest_s, _highest_s(source, block))

    def messages(self) -> Iterator[Message]:
        for name in dict.fromkeys(name for name, _ in self._found):
            own = [(part, *figures) for (source, part), figures in self._found.items() if source == name]
            yield Message(0, message.RESULT, message.ARRIVED, name, 0, np.array(own, ARRIVAL).tobytes())


def arrivals_of(payload: memoryview) -> Arrivals:
    return np.frombuffer(payload, ARRIVAL)


def column_s(block: Block, name: str, otherwise_s: float) -> npt.NDArray[np.float64]:
    """The seconds of an attribute; where it has no time, another moment."""
    column = block.column(name)
    assert isinstance(column, FixedColumn)
    seconds = column.values / (MICROSECONDS if pa.types.is_timestamp(column.type) else 1.0)
    is_known = np.isfinite(seconds) if column.valid is None else np.isfinite(seconds) & column.valid
    return seconds if is_known.all() else np.where(is_known, seconds, otherwise_s)


def _highest_s(source: Source, block: Block) -> float:
    if source.event_time is None or not block.rows:
        return NEVER_S
    column = block.column(source.event_time)
    assert isinstance(column, FixedColumn)
    values = column.values if column.valid is None else column.values[column.valid]
    if values.dtype.kind == "f":
        values = values[np.isfinite(values)]
    highest = float(values.max()) if len(values) else NEVER_S
    return highest / MICROSECONDS if pa.types.is_timestamp(column.type) else highest
