"""Ticks: what a source's tuples say about its event time, for every operator with a watermark.

They are made of the source's own blocks, before any filter, and stand at the positions of its tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from penstock.app.operators import Source
from penstock.app.windows import Window
from penstock.block.block import Block, concat_blocks
from penstock.block.column import FixedColumn
from penstock.block.ordering import in_order
from penstock.block.position import Frontier, Integers, Position, source_position
from penstock.kernels.watermark import END, FOREVER, TIME
from penstock.operators.windows.window_attribute import event_times_us, with_value
from penstock.plan.elements.watermarks import Watermark

TICKS = "#ticks"  # the stream of ticks inside an element, and between elements
SCHEMA = pa.schema([(name, pa.int64()) for name in ("kind", "place", "partition", "event_us")])


class SourceTicks:
    """Makes the ticks of one source for some operators.

    Of a block only those tuples count whose event time is above that of all before them, and of those only the ones
    that bring the watermark of any of the operators to another of its panes.
    """

    def __init__(self, source: Source, place: int, readers: Iterable[Watermark]) -> None:
        assert source.event_time is not None
        self._place, self._window = place, Window("tumbling", "time", 1, 1, source.event_time)
        own = [(lag.behind_us, reader.step_us) for reader in readers for lag in reader.sources if lag.place == place]
        self._steps = sorted(set(own))

    def of(self, block: Block, partition: int = 0) -> Block | None:
        """The ticks of a block of one partition, None where there are none."""
        if not self._steps or not block.rows:
            return None
        assert block.position is not None
        good = with_value(block, self._window)
        rows = np.arange(block.rows) if good is None else np.flatnonzero(good)
        times = event_times_us(block, self._window)[rows]
        if not len(times):
            return None
        chosen = self._thinned(times)
        return ticks_at(block.position.take(rows[chosen]), TIME, self._place, partition, times[chosen])

    def _thinned(self, times: Integers) -> Integers:
        highest = np.maximum.accumulate(times)
        records = np.append(0, 1 + np.flatnonzero(highest[1:] > highest[:-1]))
        if any(step_us == 1 for _, step_us in self._steps):
            return records
        counts = np.zeros(len(records), np.bool_)
        counts[0] = True
        for behind_us, step_us in self._steps:
            panes = (times[records] - behind_us) // step_us
            counts[1:] |= panes[1:] != panes[:-1]
        return records[counts]


def ticks_at(position: Position, kind: int, place: int, partition: int, times: Integers) -> Block:
    """Ticks at roots of positions."""
    rows = len(times)
    root = Position(position.stamp, position.place, position.sequence, np.empty((0, rows), np.int64))
    columns = (np.full(rows, kind, np.int64), np.full(rows, place, np.int64), np.full(rows, partition, np.int64), times)
    return Block(SCHEMA, tuple(FixedColumn(column, pa.int64()) for column in columns), rows, root)


def tick_at(frontier: Frontier, kind: int, place: int = -1, partition: int = 0) -> Block:
    """One tick that says something else than a time, right behind all that stands at a place of the order."""
    stamp, place_of_it, sequence = (np.array([own]) for own in frontier)
    root = Position(stamp, place_of_it, sequence, np.empty((0, 1), np.int64))
    return ticks_at(root, kind, place, partition, np.array([FOREVER if kind == END else 0]))


def no_ticks() -> Block:
    return ticks_at(source_position(np.empty(0), 0, 0), TIME, 0, 0, np.zeros(0, np.int64))


def all_ticks(blocks: Sequence[Block]) -> Block | None:
    """Ticks of several sources in order."""
    return in_order(blocks) if len(blocks) > 1 else concat_blocks(blocks) if blocks else None


def source_ticks(sources: Sequence[Source], readers: Mapping[str, Watermark]) -> dict[str, SourceTicks]:
    """Those of each source that any of the operators goes by."""
    named = {lag.place for reader in readers.values() for lag in reader.sources}
    return {
        source.name: SourceTicks(source, place, readers.values())
        for place, source in enumerate(sources)
        if place in named
    }
