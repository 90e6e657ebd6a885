"""The way in: a source's tuples get their positions and wait until nothing before them can still come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.app.operators import Source
from penstock.app.windows import MICROSECONDS
from penstock.block.block import Block, block_of, concat_blocks
from penstock.block.column import FixedColumn
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import source_position
from penstock.connectors.row_checks import check_batch
from penstock.errors import InputError
from penstock.kernels.snapshot import SnapshotFields


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a source has come: no later tuple of it stands before (stamp, place)."""

    stamp: float
    place: int


class Intake(SnapshotFields):
    """One source's tuples that were given but not processed yet."""

    snapshot_fields = ("sequence", "last_stamp", "finished", "_pending")

    def __init__(self, source: Source, place: int, with_positions: bool, letters: DeadLetters) -> None:
        self.source, self.place, self.with_positions, self.letters = source, place, with_positions, letters
        self.sequence = 0
        self.last_stamp = -np.inf
        self.finished = False
        self._pending: list[Block] = []

    @property
    def rows(self) -> int:
        return sum(block.rows for block in self._pending)

    @property
    def reach(self) -> Reach:
        return Reach(np.inf if self.finished else self.last_stamp, self.place)

    def add(self, batch: pa.Table | pa.RecordBatch) -> int:
        """Takes over a batch; gives the number of rows taken."""
        schema = check_batch(batch, self.source)
        try:
            return self.add_block(block_of(batch, schema))
        except pa.ArrowException as error:
            raise InputError(f"source '{self.source.name}' cannot use its input: {error}") from error

    def add_block(self, block: Block) -> int:
        """Takes over a block of the source's schema; gives the number of rows taken."""
        block = self._without_forbidden_nulls(block)
        if self.with_positions:
            block = self._positioned(block)
        if block.rows:
            self._pending.append(block)
        return block.rows

    def take(self, rows: int) -> Block:
        """The next rows, which must be there."""
        pending = concat_blocks(self._pending)
        self._pending = [pending.slice(rows, pending.rows)] if rows < pending.rows else []
        return pending.slice(0, rows)

    def put_back(self, block: Block) -> None:
        """Returns rows that were taken, to be the next again."""
        if block.rows:
            self._pending.insert(0, block)

    def stamps(self) -> npt.NDArray[np.float64]:
        """The stamps of all waiting tuples."""
        positions = [block.position for block in self._pending if block.position is not None]
        return np.concatenate([p.stamp for p in positions]) if positions else np.empty(0)

    def _positioned(self, block: Block) -> Block:
        stamps = self._stamps(block)
        good = np.isfinite(stamps)
        if not good.all():
            reason = f"has no number in '{self.source.stamp}', its stamp"
            self.letters.add_rows(self.source.name, reason, block, np.flatnonzero(~good))
            block, stamps = block.take(np.flatnonzero(good)), stamps[good]
        # within a source the sequence rules: a stamp that goes back counts as the highest one so far
        stamps = np.maximum.accumulate(np.maximum(stamps, self.last_stamp)) if len(stamps) else stamps
        block.position = source_position(stamps, self.place, self.sequence)
        self.sequence += block.rows
        self.last_stamp = float(stamps[-1]) if len(stamps) else self.last_stamp
        return block

    def _stamps(self, block: Block) -> npt.NDArray[np.float64]:
        if self.source.stamp is None:
            numbers = np.arange(self.sequence, self.sequence + block.rows)
            return numbers / (self.source.rate_tuples_s or 1.0)
        column = block.column(self.source.stamp)
        assert isinstance(column, FixedColumn)
        values = column.values.astype(np.float64)
        if pa.types.is_timestamp(column.type):
            values = values / MICROSECONDS
        return values if column.valid is None else np.where(column.valid, values, np.nan)

    def _without_forbidden_nulls(self, block: Block) -> Block:
        bad = np.zeros(block.rows, np.bool_)
        for field, column in zip(block.schema, block.columns, strict=True):
            if not field.nullable and column.valid is not None:
                wrong = ~column.valid & ~bad
                reason = f"has a null in '{field.name}', where its schema forbids it"
                self.letters.add_rows(self.source.name, reason, block, np.flatnonzero(wrong))
                bad |= wrong
        return block.take(np.flatnonzero(~bad)) if bad.any() else block
