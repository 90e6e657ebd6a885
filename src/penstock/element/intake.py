"""The way in: a source's tuples get their positions and wait until nothing before them can still come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.app.operators import Source
from penstock.app.windows import MICROSECONDS
from penstock.block.block import Block, block_of, concat_blocks
from penstock.block.column import FixedColumn
from penstock.block.dead_letters import DeadLetters
from penstock.block.envelope import seal, unseal
from penstock.block.position import Frontier, source_position
from penstock.connectors.row_checks import check_batch
from penstock.errors import InputError
from penstock.kernels.snapshot import SnapshotFields

_MOST_BLOCKS = 64  # that wait; more of them become one


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a source has come: no later tuple of it stands before (stamp, place)."""

    stamp: float
    place: int


@dataclass(frozen=True, slots=True)
class IntakePiece:
    """What one micro-batch changed of a source's waiting tuples: some first ones went, and others came.

    `added` is a sealed block and its rows, `fields` what else there is to know.
    """

    fields: Mapping[str, Any]
    released: int
    added: tuple[int, bytes] | None
    whole_bytes: int

    def after(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """What `export` would give after it."""
        waiting, skipped = list(state["waiting"]), state["skipped"] + self.released
        waiting += [] if self.added is None else [self.added]
        while waiting and waiting[0][0] <= skipped:
            skipped -= waiting.pop(0)[0]
        return {**self.fields, "waiting": waiting, "skipped": skipped}


class Intake(SnapshotFields):
    """One source's tuples that were given but not processed yet.

    `merged`: they stand among those of other sources, by their stamps.  Else they may be `numbered`: their positions
    have their sequence alone.
    """

    snapshot_fields = ("sequence", "last_stamp", "finished", "_runs")

    def __init__(
        self, source: Source, place: int, merged: bool, letters: DeadLetters, *, numbered: bool = False
    ) -> None:
        self.source, self.place, self.merged, self.letters = source, place, merged, letters
        self._numbered = numbered
        self.sequence = 0
        self.last_stamp = -np.inf
        self.finished = False
        self._pending: list[Block] = []
        self._runs: list[tuple[int, int]] = []  # partition and rows of what waits, one after the other
        self.taken_runs: list[tuple[int, int]] = []  # the same of what was taken last
        self._logged_rows = self._released = 0  # of the tuples that wait: those in the log, and those of them that went
        self._tuple_bytes = 0.0  # of the newest tuples that were sealed

    @property
    def rows(self) -> int:
        return sum(block.rows for block in self._pending)

    @property
    def reach(self) -> Reach:
        return Reach(np.inf if self.finished else self.last_stamp, self.place)

    @property
    def last(self) -> Frontier:
        """Where its last tuple stands that was given."""
        if not self.merged:
            return Frontier(0.0, self.place, self.sequence - 1)
        return Frontier(self.last_stamp, self.place, self.sequence - 1)

    def add(self, batch: pa.Table | pa.RecordBatch) -> int:
        """Takes over a batch; gives the number of rows taken."""
        schema = check_batch(batch, self.source)
        try:
            return self.add_block(block_of(batch, schema))
        except pa.ArrowException as error:
            raise InputError(f"source '{self.source.name}' cannot use its input: {error}") from error

    def add_block(self, block: Block, partition: int = 0) -> int:
        """Takes over a block of a partition, of the source's schema; gives the number of rows taken."""
        block = self._without_forbidden_nulls(block)
        if self.merged:
            block = self._positioned(block)
        elif self._numbered:
            block.position = source_position(np.zeros(block.rows), self.place, self.sequence)
            self.sequence += block.rows
        if block.rows:
            self._pending.append(block)
            self._runs.append((partition, block.rows))
        if len(self._pending) > _MOST_BLOCKS:
            self._pending = [concat_blocks(self._pending)]
        return block.rows

    def take(self, rows: int) -> Block:
        """The next rows, which must be there."""
        self._released += rows
        self.taken_runs = self._take_runs(rows)
        taken: list[Block] = []
        while rows:
            first = self._pending[0]
            if first.rows <= rows:
                taken.append(self._pending.pop(0))
            else:
                taken.append(first.slice(0, rows))
                self._pending[0] = first.slice(rows, first.rows)
            rows -= taken[-1].rows
        return concat_blocks(taken)

    def _take_runs(self, rows: int) -> list[tuple[int, int]]:
        taken: list[tuple[int, int]] = []
        while rows:
            partition, own = self._runs.pop(0)
            if own > rows:
                self._runs.insert(0, (partition, own - rows))
            taken.append((partition, min(own, rows)))
            rows -= taken[-1][1]
        return taken

    @property
    def waiting_bytes(self) -> int:
        """About how many bytes wait."""
        return int(self.rows * self._tuple_bytes)

    def export(self) -> dict[str, Any]:
        return {**super().export(), "waiting": [self._sealed(block) for block in self._pending], "skipped": 0}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore({name: state[name] for name in self.snapshot_fields})
        self._pending = [unseal(pa.py_buffer(payload), self.source.schema) for _, payload in state["waiting"]]
        if state["skipped"]:
            self._runs = [(0, self.rows)]
            self.take(state["skipped"])
            self._runs = state["_runs"]
        self.note_logged()

    def piece(self) -> IntakePiece:
        """What changed since the tuples that wait were logged last."""
        released = min(self._released, self._logged_rows)
        added = self._behind(self._logged_rows - released)
        sealed = None if added is None else self._sealed(added)
        return IntakePiece(super().export(), released, sealed, self.waiting_bytes)

    def note_logged(self) -> None:
        """All that waits now is in the log."""
        self._logged_rows, self._released = self.rows, 0

    def _behind(self, rows: int) -> Block | None:
        """What waits behind so many tuples."""
        found: list[Block] = []
        for block in self._pending:
            if rows < block.rows:
                found.append(block.slice(rows, block.rows) if rows else block)
            rows = max(rows - block.rows, 0)
        return concat_blocks(found) if found else None

    def _sealed(self, block: Block) -> tuple[int, bytes]:
        payload = seal(block).to_pybytes()
        self._tuple_bytes = len(payload) / block.rows
        return block.rows, payload

    def drop_overtaken(self, frontier: Frontier, idle_timeout_s: float) -> None:
        """Makes dead letters of waiting tuples that others went past while the source was idle."""
        gone = sum(block.position.within(frontier) for block in self._pending if block.position is not None)
        if gone:
            reason = f"came after its source was idle for {idle_timeout_s:g} s and the others went on"
            self.letters.add_rows(self.source.name, reason, self.take(gone), np.arange(gone))

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
