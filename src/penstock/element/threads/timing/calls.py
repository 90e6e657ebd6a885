"""Some calls of operators are timed by the CPU clock of their thread."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from penstock.block.block import Block
from penstock.block.position import Frontier
from penstock.element.threads.stage import ThreadedStage

EVERY = 16


class TimedCalls:
    """Times one call in `every` of each thread; threads may lose a figure to one another, which does not matter.

    Which one is left to chance: a thread often calls the same operators in turn, and would always come to the same.
    """

    def __init__(self, every: int = EVERY) -> None:
        self.every = every
        self.cpu_ns: dict[str, int] = {}

    def gap(self) -> int:
        """From a call that was timed to the next."""
        return 1 + int(random.random() * (2 * self.every - 1))

    def call(self, stage: ThreadedStage, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        """Calls a stage and notes how long it was on a core."""
        begin_ns = time.thread_time_ns()
        outputs = stage.process(inputs, frontier)
        name = stage.operator.name
        self.cpu_ns[name] = self.cpu_ns.get(name, 0) + time.thread_time_ns() - begin_ns
        return outputs
