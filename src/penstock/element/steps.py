"""Steps: the tuples of several sources cut into blocks that stand one after the other in the total order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from penstock.block.block import Block
from penstock.block.position import Frontier
from penstock.block.position_merge import merge_stamps
from penstock.element.intake import Intake


class Steps:
    """Takes from intakes what nothing can come before any more; `frontier` tells how far that was.

    A source that `is_idle` does not hold the others back.
    """

    def __init__(
        self, intakes: Mapping[str, Intake], block_rows: int, is_idle: Callable[[Intake], bool] | None = None
    ) -> None:
        self.intakes, self.block_rows = intakes, block_rows
        self.frontier = Frontier(-np.inf, 0, 0)
        self._is_idle = is_idle

    def take(self) -> Iterator[dict[str, Block]]:
        """Blocks of at most `block_rows` tuples, first of sources that are merged with none, then in one order."""
        for name, intake in self.intakes.items():
            if not intake.merged and intake.rows:
                for block in pieces(intake.take(intake.rows), self.block_rows):
                    yield {name: block}
        yield from self._merged([intake for intake in self.intakes.values() if intake.merged])

    def _merged(self, intakes: list[Intake]) -> Iterator[dict[str, Block]]:
        waiting = [(intake, intake.stamps()) for intake in intakes if intake.rows]
        ready = [(intake, stamps[: self._safe(intake, stamps, intakes)]) for intake, stamps in waiting]
        if not ready:
            return
        owner = np.repeat(np.arange(len(ready)), [len(part) for _, part in ready])
        order = _order([part for _, part in ready])
        for start in range(0, len(order), self.block_rows):
            chunk = order[start : start + self.block_rows]
            counts = np.bincount(owner[chunk], minlength=len(ready))
            last = ready[int(owner[chunk[-1]])][0]
            blocks = {i.source.name: i.take(int(n)) for (i, _), n in zip(ready, counts, strict=True) if n}
            position = blocks[last.source.name].position
            assert position is not None
            self.frontier = Frontier(float(position.stamp[-1]), last.place, int(position.sequence[-1]))
            yield blocks

    def _safe(self, intake: Intake, stamps: npt.NDArray[np.float64], intakes: list[Intake]) -> int:
        """How many waiting tuples of a source come before anything another source may still deliver."""
        safe = len(stamps)
        for other in intakes:
            if other is intake or (self._is_idle is not None and self._is_idle(other)):
                continue
            side = "right" if intake.place < other.place else "left"
            safe = min(safe, int(np.searchsorted(stamps, other.reach.stamp, side=side)))  # type: ignore[call-overload]
        return safe


def _order(stamps: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.int64]:
    """The order of all, whose own are ascending; ties: the source's place, then the sequence."""
    if len(stamps) == 2:
        one, other = stamps
        merged: npt.NDArray[np.int64] = merge_stamps(one, other, True)
        return merged
    return np.argsort(np.concatenate(stamps), kind="stable")


def pieces(block: Block, rows: int) -> Iterator[Block]:
    """A block without punctuations in parts of at most so many rows."""
    for start in range(0, block.rows, rows):
        yield block.slice(start, min(start + rows, block.rows))
