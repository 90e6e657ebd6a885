"""A table that goes on for ever: its rows again and again, as the function of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class RepeatedTable:
    """The rows of an Arrow file by offset, round after round; attributes of `times` grow from round to round.

    Times grow by what a round spans, so that no tuple of a later round is late.
    """

    path: str
    times: tuple[str, ...] = ()

    def __call__(self, offsets: npt.NDArray[np.int64]) -> pa.RecordBatch:
        table = _mapped(self.path)
        rounds, rows = np.divmod(offsets, max(table.num_rows, 1))
        found = table.take(pa.array(rows)).combine_chunks()
        for name in self.times:
            place = found.schema.get_field_index(name)
            found = found.set_column(place, found.schema.field(place), self._later(name, found.column(place), rounds))
        return found.to_batches()[0] if len(offsets) else pa.RecordBatch.from_pylist([], found.schema)

    def _later(self, name: str, column: pa.ChunkedArray, rounds: npt.NDArray[np.int64]) -> pa.ChunkedArray:
        kind = column.type
        number = pa.int64() if pa.types.is_temporal(kind) or pa.types.is_integer(kind) else pa.float64()
        span = _span(self.path, name)
        return pc.add(column.cast(number), pa.array(rounds * span).cast(number)).cast(kind)


@lru_cache(maxsize=8)
def _mapped(path: str) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(path)).read_all().unify_dictionaries().combine_chunks()


@lru_cache(maxsize=32)
def _span(path: str, name: str) -> float:
    """What a column spans, with one mean step to the next round."""
    table = _mapped(path)
    column = table.column(name)
    plain = column.cast(pa.int64()) if pa.types.is_temporal(column.type) else column
    low, high = (float(value or 0) for value in pc.min_max(plain).as_py().values())
    step = (high - low) / max(table.num_rows - 1, 1) or 1.0
    exact = pa.types.is_floating(plain.type)
    return high - low + (step if exact else max(round(step), 1))


def write_table(table: pa.Table, path: str) -> None:
    """Writes a table for `RepeatedTable`."""
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table.combine_chunks())
