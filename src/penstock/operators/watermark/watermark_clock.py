"""The watermark of one operator: the lowest, over sources and their partitions, of highest event time less its lag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.column import FixedColumn
from penstock.block.position import Integers, Position
from penstock.kernels.snapshot import SnapshotFields
from penstock.kernels.watermark import END, FOREVER, NEVER, TIME, rises
from penstock.plan.elements.watermarks import Watermark

_PARTITION_BITS = 32
_FEW_CODES = 8


@dataclass(frozen=True, slots=True)
class Moves:
    """Where the watermark comes to another pane: the positions of the ticks, and the panes."""

    position: Position
    panes: Integers

    def of_panes(self, panes: Integers) -> Integers:
        """The number of the move that passes each pane."""
        return np.searchsorted(self.panes, panes, side="right")


class WatermarkClock(SnapshotFields):
    """Follows the ticks of all sources of an operator.

    A partition that has delivered nothing holds the watermark, unless it is idle or ended; each source has a partition
    0 from the start.  The watermark never goes back.
    """

    snapshot_fields = ("_partitions", "_highest", "_silence", "_reached", "_ticks")

    def __init__(self, watermark: Watermark) -> None:
        self._step_us = watermark.step_us
        self._behind_us = {source.place: source.behind_us for source in watermark.sources}
        self._partitions = {(source.place, 0): number for number, source in enumerate(watermark.sources)}
        self._highest: Integers = np.full(len(self._partitions), NEVER, np.int64)
        self._silence: Integers = np.zeros(len(self._partitions), np.int64)
        self._reached = int(NEVER)
        self._ticks = 0  # that it has heard

    @property
    def pane(self) -> int:
        """The pane that the watermark is in; NEVER before there is one."""
        return self._reached if self._reached in (NEVER, FOREVER) else self._reached // self._step_us

    @property
    def watermark_us(self) -> int | None:
        """The watermark in microseconds, None before there is one."""
        return None if self._reached == NEVER else self._reached

    def restore(self, state: Mapping[str, Any]) -> None:
        """Takes copies: the states of all slots of an operator share what it goes on changing.

        Checkpoints of earlier versions call the silence of the partitions `_quiet`, and know no sources without a
        bound, which hold the watermark from now on.
        """
        super().restore({"_silence" if name == "_quiet" else name: copy(value) for name, value in state.items()})
        for place in self._behind_us:
            self._partitions.setdefault((place, 0), len(self._partitions))

    def restore_newest(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Goes on from the newest of some states."""
        self.restore(max(states, key=lambda state: state["_ticks"]))

    def advance(self, ticks: Block) -> Moves:
        """Takes ticks in order; gives those that bring the watermark to another pane."""
        assert ticks.position is not None
        kinds, places, partitions, times = (c.values for c in ticks.columns if isinstance(c, FixedColumn))
        rows = np.flatnonzero(np.isin(places, list(self._behind_us)) | (kinds == END))
        kinds, times = kinds[rows], times[rows]
        owners, behind_us = self._owners(places[rows], partitions[rows])
        found, values = rises(
            kinds, owners, np.where(kinds == TIME, times - behind_us, 0), self._highest, self._silence, self._reached
        )
        panes = np.where(values == FOREVER, FOREVER, values // self._step_us)
        moved = np.flatnonzero(panes != np.append(self.pane, panes[:-1])[: len(panes)])
        self._ticks += ticks.rows
        if len(values):
            self._reached = int(values[-1])
        return Moves(ticks.position.take(rows[found[moved]]), panes[moved])

    def _owners(self, places: Integers, partitions: Integers) -> tuple[Integers, Integers]:
        """The numbers of the ticks' partitions, new ones included, and how far the watermark is behind their times."""
        codes, which = _distinct(places << _PARTITION_BITS | partitions)
        pairs = [(int(code) >> _PARTITION_BITS, int(code) & ((1 << _PARTITION_BITS) - 1)) for code in codes]
        for pair in pairs:
            if pair[0] in self._behind_us:
                self._partitions.setdefault(pair, len(self._partitions))
        more = len(self._partitions) - len(self._highest)
        if more:
            self._highest = np.append(self._highest, np.full(more, NEVER, np.int64))
            self._silence = np.append(self._silence, np.zeros(more, np.int64))
        owners = np.array([self._partitions.get(pair, 0) for pair in pairs], np.int64)
        behind_us = np.array([self._behind_us.get(place, 0) for place, _ in pairs], np.int64)
        return owners[which], behind_us[which]


def _distinct(codes: Integers) -> tuple[Integers, Integers]:
    """The different codes, ascending, and which one each is; there are few, so that nothing need be sorted."""
    found, left = list[int](), codes
    while len(left):
        found.append(int(left[0]))
        if len(found) > _FEW_CODES:
            different, which = np.unique(codes, return_inverse=True)
            return different, which
        left = left[left != left[0]]
    different = np.array(sorted(found), np.int64)
    return different, np.searchsorted(different, codes)
