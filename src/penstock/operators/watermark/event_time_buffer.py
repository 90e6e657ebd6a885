"""Tuples that wait for a watermark: on time or late when they come, and released in event-time order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.app.windows import Window
from penstock.block.block import Block, concat_blocks, empty_block
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import ABSENT, AT_TICK, LAST, Integers, Position, concat_position_list, source_position
from penstock.block.position_merge import merge_pair
from penstock.kernels.snapshot import SnapshotFields
from penstock.operators.watermark.watermark_clock import Moves, WatermarkClock
from penstock.operators.windows.window_attribute import event_times_us, without_missing
from penstock.plan.elements.watermarks import Watermark

LATE = "came late: the watermark had passed it"
SEQUENCE_BITS = 40  # of a position's sequence; what is above them is the partition, or the number of a file
_PARTITION_BITS = 24
_MOST_CHUNKS = 64
_FEW = 16  # so many times as many tuples as moves: to look for the moves is quicker than to merge them
_NO_TIMES = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Released:
    """Tuples in the order of their event times, and the moves of the watermark that released them.

    `blocks` has those of each input in that order; `ports`, `event_us` and `move` (a number of `moves`) are of all.
    """

    blocks: tuple[Block, ...]
    ports: npt.NDArray[np.uint8]
    event_us: Integers
    move: Integers
    moves: Moves


class _Chunk:
    """Some tuples of one input that wait, with their event times."""

    __slots__ = ("block", "event_us", "lowest")

    def __init__(self, block: Block, event_us: Integers) -> None:
        self.block, self.event_us = block, event_us
        self.lowest = int(event_us.min())

    def take(self, rows: Integers) -> _Chunk:
        return _Chunk(self.block.take(rows), self.event_us[rows])

    def __reduce__(self) -> tuple[type[_Chunk], tuple[Block, Integers]]:
        return _Chunk, (self.block, self.event_us)


class EventTimeBuffer(SnapshotFields):
    """What stands in front of an operator's windows; `windows` and `schemas` have one for each input.

    `depth` is that of the inputs' positions.
    """

    snapshot_fields = ("clock", "chunks")

    def __init__(
        self,
        operator: str,
        windows: Sequence[Window],
        schemas: Sequence[pa.Schema],
        watermark: Watermark,
        letters: DeadLetters,
        depth: int,
    ) -> None:
        self._operator, self._windows, self._letters = operator, windows, letters
        self._depth, self._empty = depth, [_empty(schema, depth) for schema in schemas]
        self._step_us, self._drops_late = watermark.step_us, np.array(sorted(watermark.drops_late), np.int64)
        self.clock = WatermarkClock(watermark)
        self.chunks: list[list[_Chunk]] = [[] for _ in windows]
        self._changed = False

    @property
    def rows(self) -> int:
        """How many tuples wait."""
        return sum(chunk.block.rows for chunks in self.chunks for chunk in chunks)

    @property
    def state_bytes(self) -> int:
        return sum(column.nbytes for own in self.chunks for chunk in own for column in chunk.block.columns)

    def blocks(self) -> list[list[Block]]:
        """What waits of each input."""
        return [[chunk.block for chunk in chunks] for chunks in self.chunks]

    def hold(self, port: int, block: Block) -> None:
        """Takes tuples that waited elsewhere."""
        self._keep(port, _Chunk(block, event_times_us(block, self._windows[port])))

    def has_changed(self) -> bool:
        """Whether tuples or ticks came since this was asked the last time."""
        changed, self._changed = self._changed, False
        return changed

    def take(self, inputs: Sequence[Block], ticks: Block) -> Released | None:
        """Takes tuples over, and gives those that ticks release; None where the watermark stays in its pane."""
        self._changed = True
        before, moves = self.clock.pane, self.clock.advance(ticks)
        for port, block in enumerate(inputs):
            if block.rows:
                self._add(port, block, np.append(before, moves.panes), moves)
        return self._released(moves) if len(moves.panes) else None

    def _add(self, port: int, block: Block, reached: Integers, moves: Moves) -> None:
        window = self._windows[port]
        block = without_missing(block, window, self._operator, self._letters)
        if not block.rows:
            return
        assert block.position is not None
        event_us = event_times_us(block, window)
        late = event_us // self._step_us < reached[_moves_before(block.position, moves.position)]
        block = Block(block.schema, block.columns, block.rows, block.position)
        if late.any():
            self._report(block, np.flatnonzero(late))
            on_time = np.flatnonzero(~late)
            block, event_us = block.take(on_time), event_us[on_time]
        if block.rows:
            self._keep(port, _Chunk(block, event_us))

    def _keep(self, port: int, chunk: _Chunk) -> None:
        chunks = self.chunks[port]
        chunks.append(chunk)
        if len(chunks) > _MOST_CHUNKS:
            whole = concat_blocks([own.block for own in chunks])
            self.chunks[port] = [_Chunk(whole, np.concatenate([own.event_us for own in chunks]))]

    def _report(self, block: Block, late: Integers) -> None:
        assert block.position is not None
        dropped = np.isin(block.position.place[late], self._drops_late)
        self._letters.drop(self._operator, int(dropped.sum()))
        self._letters.add_rows(self._operator, LATE, block, late[~dropped])

    def _released(self, moves: Moves) -> Released:
        """All whose panes the last of the moves has passed."""
        parts = [self._passed(port, int(moves.panes[-1])) for port in range(len(self.chunks))]
        blocks = [self._joined(port, own) for port, own in enumerate(parts)]
        event_us = np.concatenate([_NO_TIMES, *(chunk.event_us for own in parts for chunk in own)])
        counts = [block.rows for block in blocks]
        ports = np.repeat(np.arange(len(parts), dtype=np.uint8), counts)
        if (event_us[1:] > event_us[:-1]).all():  # as they came
            return Released(tuple(blocks), ports, event_us, moves.of_panes(event_us // self._step_us), moves)
        order = _release_order(event_us, concat_position_list([_position(block) for block in blocks]), ports)
        event_us, ports = event_us[order], ports[order]
        first = np.cumsum([0, *counts])
        taken = tuple(block.take(order[ports == port] - first[port]) for port, block in enumerate(blocks))
        return Released(taken, ports, event_us, moves.of_panes(event_us // self._step_us), moves)

    def _joined(self, port: int, chunks: Sequence[_Chunk]) -> Block:
        """The tuples of chunks as one block, with positions of full depth."""
        if not chunks:
            return self._empty[port]
        block = concat_blocks([chunk.block for chunk in chunks])
        position = _position(block).pad(self._depth, ABSENT)
        return Block(block.schema, block.columns, block.rows, position)

    def _passed(self, port: int, pane: int) -> list[_Chunk]:
        """Lets go of the tuples of panes below one."""
        remaining, passed = [], []
        for chunk in self.chunks[port]:
            if chunk.lowest // self._step_us >= pane:
                remaining.append(chunk)
                continue
            is_passed = chunk.event_us // self._step_us < pane
            if is_passed.all():
                passed.append(chunk)
            else:
                passed.append(chunk.take(np.flatnonzero(is_passed)))
                remaining.append(chunk.take(np.flatnonzero(~is_passed)))
        self.chunks[port] = remaining
        return passed


def order_columns(event_us: Integers, position: Position) -> list[Any]:
    """What the order of release goes by: event time, source and partition, offset, and output numbers.

    What a watermark fired stands where its tick does, and that depends on the order in which tuples came.  So of
    results only the output numbers count, and they stand behind the tuples of sources.
    """
    origin, stamp, sequence = position.place << _PARTITION_BITS, position.stamp, position.sequence
    origin = origin | sequence >> SEQUENCE_BITS
    is_result = position.levels[0] >= AT_TICK if len(position.levels) else np.zeros(0, np.bool_)
    if is_result.any():
        origin = np.where(is_result, LAST, origin)
        stamp, sequence = np.where(is_result, 0.0, stamp), np.where(is_result, 0, sequence)
    return [event_us, origin, stamp, sequence, *position.levels]


def _release_order(event_us: Integers, position: Position, ports: npt.NDArray[np.uint8]) -> Integers:
    order: Integers = np.argsort(event_us, kind="stable")
    ordered = event_us[order]
    if (ordered[1:] == ordered[:-1]).any():
        order = np.lexsort([ports, *order_columns(event_us, position)[::-1]])
    return order


def _moves_before(position: Position, moves: Position) -> Integers:
    """How many of the moves stand before each of ascending positions; not those of its own root."""
    rows, count = len(position), len(moves)
    if not count:
        return np.zeros(rows, np.int64)
    if count * _FEW < rows:
        stops = [position.up_to(moves.root(move), inclusive=True) for move in range(count)]
        found: Integers = np.repeat(np.arange(count + 1), np.diff(np.array([0, *stops, rows])))
        return found
    stamp, place, sequence = (
        np.concatenate([one, other])
        for one, other in zip(
            (position.stamp, position.place, position.sequence), (moves.stamp, moves.place, moves.sequence), strict=True
        )
    )
    order = merge_pair(
        np.arange(rows), np.arange(rows, rows + count), stamp, place, sequence, np.empty((0, rows + count), np.int64)
    )
    is_move = order >= rows
    before: Integers = np.cumsum(is_move)[~is_move]
    return before


def _empty(schema: pa.Schema, depth: int) -> Block:
    block = empty_block(schema)
    block.position = source_position(np.empty(0), 0, 0).pad(depth, ABSENT)
    return block


def _position(block: Block) -> Position:
    assert block.position is not None
    return block.position
