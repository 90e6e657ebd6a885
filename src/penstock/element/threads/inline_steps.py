"""Steps that the feeding thread runs straight through the operators while it is alone."""

from __future__ import annotations

import time
from collections.abc import Mapping

from penstock.block.block import Block
from penstock.block.position import Frontier
from penstock.element.element import Element

_LONGEST_S = 0.1


class StraightSteps:
    """So many steps are left that go straight; neither the sampler nor the clock of calls sees them.

    To be seen costs a step some twenty microseconds, as long as a light one takes itself. All steps before must be
    complete. After a tenth of a second none is left, as steps may have become long.
    """

    __slots__ = ("_steps", "_tuples", "_until_s", "left")

    def __init__(self) -> None:
        self.left = self._steps = self._tuples = 0
        self._until_s = 0.0

    def allow(self, steps: int) -> None:
        """The next `steps` go straight."""
        self.left, self._until_s = steps, time.perf_counter() + _LONGEST_S

    def run(self, element: Element, blocks: Mapping[str, Block], frontier: Frontier) -> dict[str, Block]:
        outputs = element.step(blocks, frontier)
        self.left = self.left - 1 if time.perf_counter() < self._until_s else 0
        self._steps += 1
        for block in blocks.values():
            self._tuples += block.rows
        return outputs

    def take(self) -> tuple[int, int]:
        """Steps and tuples that went straight since the last time; no more do before the next `allow`."""
        passed = self._steps, self._tuples
        self.left = self._steps = self._tuples = 0
        return passed
