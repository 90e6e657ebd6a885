"""The communication learner's application: a source, an exchange, and nothing behind it (MODEL, 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.app.application import Application
from penstock.connectors.kinds import discarding_sink
from penstock.connectors.source_kinds import tuples_by_function

COLUMNS = (1, 4, 16, 64)  # of eight bytes each
BLOCK_ROWS = (8_192, 32_768)
_BATCH_BYTES = (3 << 20, 24 << 20)
_MOST_TUPLES = 2_000_000
SOURCE, DROP = "wide", "drop"
CUT = [[DROP]]
FUSED = [[SOURCE, DROP, "out"]]


@dataclass(frozen=True, slots=True)
class WideTuples:
    """Tuples of so many numbers, which cost next to nothing to make."""

    columns: int

    def __call__(self, offsets: npt.NDArray[np.int64]) -> pa.RecordBatch:
        own = _numbers(max(len(offsets), 1))[: len(offsets)]
        return pa.RecordBatch.from_arrays([own] * self.columns, names=[f"x{n}" for n in range(self.columns)])


@lru_cache(maxsize=4)
def _numbers(rows: int) -> pa.Array:
    return pa.array(np.arange(rows, dtype=np.float64))


def calibration_application(columns: int) -> Application:
    """Tuples of so many numbers, all of which are sent and then dropped by a functor."""
    app = Application(f"calibration of {8 * columns} bytes")
    wide = app.source(SOURCE, tuples_by_function(WideTuples(columns)))
    wide.functor(DROP, where="x0 < 0").sink("out", discarding_sink())
    return app


def batch_sizes(columns: int) -> tuple[int, ...]:
    """Tuples of small and of large micro-batches."""
    return tuple(min(size // (8 * columns), _MOST_TUPLES) for size in _BATCH_BYTES)
