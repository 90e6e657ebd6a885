"""Sources whose tuples are known by their offsets: offset n always gives the same tuple, with the same position."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import numpy as np
import pyarrow as pa

from penstock.app.connectors import RecordedSource, TraceSource
from penstock.app.operators import Source
from penstock.element.block import Block, block_of
from penstock.element.column import column_of
from penstock.element.envelope import position_names, position_of
from penstock.element.position import Floats, source_position


class OffsetSource(Protocol):
    """What a source of an application gives for its offsets."""

    @property
    def total(self) -> int | None:
        """How many tuples there are; None where there is no end."""
        ...

    def arrived_by(self, time_s: float) -> int | None:
        """How many tuples are there at a moment; None where any number is."""
        ...

    def block(self, start: int, stop: int, *, positioned: bool) -> Block:
        """The tuples of some offsets."""
        ...

    def stamp(self, offset: int) -> float:
        """Where the tuple at an offset stands among those of other sources; ascending."""
        ...

    def count(self, stamp: float, *, inclusive: bool) -> int:
        """How many tuples stand before a stamp, or at it too."""
        ...


class TraceOffsets:
    """A trace: a tuple's stamp is its offset over the rate that the source declares."""

    def __init__(self, source: Source, place: int) -> None:
        assert isinstance(source.connector, TraceSource)
        self._trace, self._schema, self._place = source.connector.open(), source.schema, place
        self._rate_tuples_s = source.rate_tuples_s or 1.0

    @property
    def total(self) -> int | None:
        return self._trace.total

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


class RecordedOffsets:
    """Tuples of an Arrow file that was written with their positions; all of them are there from the beginning."""

    def __init__(self, source: Source) -> None:
        assert isinstance(source.connector, RecordedSource)
        self._schema = source.schema
        self._table = _mapped(source.connector.path)
        names = set(self._table.column_names) - set(source.schema.names)
        self._stamps: Floats | None = self._table.column("#stamp").to_numpy() if "#stamp" in names else None

    @property
    def total(self) -> int:
        return int(self._table.num_rows)

    def arrived_by(self, time_s: float) -> int:
        return self.total

    def block(self, start: int, stop: int, *, positioned: bool) -> Block:
        batch = self._table.slice(start, stop - start).combine_chunks().to_batches()[0]
        columns = tuple(column_of(batch.column(i), field.type) for i, field in enumerate(self._schema))
        position = position_of(batch, len(self._schema)) if positioned else None
        return Block(self._schema, columns, batch.num_rows, position)

    def stamp(self, offset: int) -> float:
        assert self._stamps is not None
        return float(self._stamps[offset])

    def count(self, stamp: float, *, inclusive: bool) -> int:
        assert self._stamps is not None
        return int(np.searchsorted(self._stamps, stamp, side="right" if inclusive else "left"))


def offset_source(source: Source, place: int) -> OffsetSource | None:
    """The source by its offsets; None where it has none, as rows come from elsewhere."""
    match source.connector:
        case TraceSource():
            return TraceOffsets(source, place)
        case RecordedSource():
            return RecordedOffsets(source)
        case _:
            return None


def record(block: Block, path: str) -> None:
    """Writes a block with its positions for `RecordedOffsets`."""
    arrays = [column.to_arrow() for column in block.columns]
    names = list(block.schema.names)
    if block.position is not None:
        p = block.position
        arrays += [pa.array(a) for a in (p.stamp, p.place, p.sequence, *p.levels)]
        names += position_names(p)
    table = pa.table(arrays, names=names)
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=1 << 20)


@lru_cache(maxsize=16)
def _mapped(path: str) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(path)).read_all().unify_dictionaries()
