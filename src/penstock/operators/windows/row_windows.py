"""Windows whose rows are held: a store of rows next to the kernel that says which rows each firing has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock.app.windows import Window
from penstock.block.column import Column, concat
from penstock.block.position import Integers
from penstock.kernels.snapshot import SnapshotFields
from penstock.kernels.windows.held_rows import Firings, HeldRows

_COMPACT_ABOVE_ROWS = 4096


class HeldWindows(SnapshotFields):
    """Windows over stored columns."""

    snapshot_fields = ("rows", "columns")

    def __init__(self, window: Window) -> None:
        tumbling = window.kind == "tumbling"
        self.rows = HeldRows(window.measure, tumbling, window.size, window.every, window.per_group)
        self.columns: tuple[Column, ...] | None = None

    @property
    def state_bytes(self) -> int:
        stored = 0 if self.columns is None else sum(column.to_arrow().nbytes for column in self.columns)
        return self.rows.state_bytes + stored

    def process(
        self,
        columns: Sequence[Column],
        groups: npt.NDArray[np.int32],
        group_count: int,
        values: npt.NDArray[np.float64],
        marks: Integers,
    ) -> tuple[Firings, tuple[Column, ...]]:
        """The firings, and the columns of their member rows one after the other."""
        stored = tuple(columns) if self.columns is None else tuple(map(_pair, self.columns, columns))
        firings = self.rows.process(groups.astype(np.int64), group_count, values, marks)
        taken = tuple(column.take(firings.members) for column in stored)
        self.columns = stored
        self._compact()
        return firings, taken

    def flush(self) -> tuple[Firings, tuple[Column, ...]]:
        """The firings of all that is held, and the columns of their member rows; then nothing is held."""
        firings = self.rows.flush()
        return firings, tuple(column.take(firings.members) for column in self.columns or ())

    def _compact(self) -> None:
        held = int(self.rows.held.sum())
        if self.columns is not None and self.rows.store_rows > 2 * held + _COMPACT_ABOVE_ROWS:
            live = self.rows.live()
            self.columns = tuple(column.take(live) for column in self.columns)
            self.rows.renumber(live)


def _pair(stored: Column, new: Column) -> Column:
    return concat([stored, new])
