"""Tuples with their positions in an Arrow file, by their offsets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.block.block import Block
from penstock.block.column import WordColumn, column_of
from penstock.block.envelope import position_names, position_of
from penstock.block.position import Floats
from penstock.connectors.offsets import KnownOffsets
from penstock.connectors.planned.source_port import Offset
from penstock.connectors.port import SourceSpec
from penstock.host.atomic_file import open_new


@dataclass(frozen=True, slots=True)
class RecordedSource(KnownOffsets):
    """Tuples with their positions in an Arrow file, as `ps.evaluate` records them for Spark."""

    path: str

    @property
    def schema(self) -> None:
        """The application gives it."""
        return None

    @property
    def promise(self) -> str:
        return "Exactly once: the tuple at an offset is always the same, and the checkpoint has the offsets."

    def by_offset(self, source: SourceSpec, place: int) -> RecordedOffsets:
        return RecordedOffsets(self, source)

    def there_by(self, time_s: float) -> int:
        return int(_mapped(self.path).num_rows)

    def backlog(self, after: Offset, path: Path) -> float:
        return float(self.there_by(0.0) - (after or 0))


class RecordedOffsets:
    """Tuples of an Arrow file that was written with their positions; all of them are there from the beginning."""

    def __init__(self, connector: RecordedSource, source: SourceSpec) -> None:
        self._schema = source.schema
        self._table = _mapped(connector.path)
        names = set(self._table.column_names) - set(source.schema.names)
        self._stamps: Floats | None = self._table.column("#stamp").to_numpy() if "#stamp" in names else None

    @property
    def total(self) -> int:
        return int(self._table.num_rows)

    @property
    def has_schedule(self) -> bool:
        return False

    def arrival_s(self, offsets: npt.NDArray[np.int64]) -> Floats:
        raise ValueError("a table has no schedule of arrivals")

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


class RestWaiting:
    """A file or trace without a schedule: all of it is there from the beginning, so that nothing arrives."""

    arrives = False

    def __init__(self, name: str, total: int | None) -> None:
        self._name, self._total = name, total

    def waiting(self, before: Any, after: Any, tuples: int, now_s: float) -> float | None:
        return None if self._total is None else float(self._total - after[self._name])


def record(block: Block, path: str) -> None:
    """Writes a block with its positions for `RecordedOffsets`."""
    arrays = [c.to_wire() if isinstance(c, WordColumn) else c.to_arrow() for c in block.columns]
    names = list(block.schema.names)
    if block.position is not None:
        p = block.position
        arrays += [pa.array(a) for a in (p.stamp, p.place, p.sequence, *p.levels)]
        names += position_names(p)
    table = pa.table(arrays, names=names)
    os.close(open_new(path, os.O_WRONLY))
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=1 << 20)


@lru_cache(maxsize=16)
def _mapped(path: str) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(path)).read_all().unify_dictionaries()
