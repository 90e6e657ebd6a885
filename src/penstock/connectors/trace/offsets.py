"""A trace by its offsets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.block.block import Block, block_of
from penstock.block.position import source_position
from penstock.connectors.port import SourceSpec
from penstock.connectors.trace.source import TraceSource


class TraceOffsets:
    """A trace: a tuple's stamp is its offset over the rate that the source declares."""

    def __init__(self, connector: TraceSource, source: SourceSpec, place: int) -> None:
        self._trace, self._schema, self._place = connector.open(), source.schema, place
        self._rate_tuples_s = source.rate_tuples_s or 1.0

    @property
    def total(self) -> int | None:
        return self._trace.total

    @property
    def has_schedule(self) -> bool:
        return self._trace.arrivals is not None

    def arrival_s(self, offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        assert self._trace.arrivals is not None
        return self._trace.arrivals.arrival_s(offsets)

    def arrived_by(self, time_s: float) -> int | None:
        arrived = self._trace.arrived_by(time_s)
        return None if arrived is None else int(arrived)

    def block(self, start: int, stop: int, *, positioned: bool) -> Block:
        block = block_of(self._trace.batch(start, stop), self._schema)
        if positioned:
            block.position = source_position(np.arange(start, stop) / self._rate_tuples_s, self._place, start)
        return block

    def stamp(self, offset: int) -> float:
        return offset / self._rate_tuples_s

    def count(self, stamp: float, *, inclusive: bool) -> int:
        if stamp == np.inf:
            return np.iinfo(np.int64).max
        near = max(0, int(stamp * self._rate_tuples_s) - 2)
        while self.stamp(near) < stamp or (inclusive and self.stamp(near) == stamp):
            near += 1
        return near
