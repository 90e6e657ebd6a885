"""A stage: an operator (or a shard of one) as the threads see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.app.operators import Operator
from penstock.block.block import Block
from penstock.block.position import Frontier
from penstock.element.threads.step import Step

Process = Callable[[Sequence[Block], Frontier], tuple[Block, ...]]


class ThreadedStage:
    """Which streams it reads and emits, who comes next, and, where steps must pass in order, whose turn it is.

    An ordered stage takes one step at a time: `turn` is the next one's number, `waiting` holds those that came early.
    `waiting` and what `is_queued` put into the schedule are together the stage's queue.
    """

    __slots__ = (
        "always", "can_queue", "frees", "in_queue", "inputs", "is_busy", "is_ordered", "is_queued", "most_in_queue",
        "needs_visits", "number", "operator", "outputs", "places", "process", "producers", "readers", "turn", "waiting",
    )  # fmt: skip

    def __init__(self, operator: Operator, process: Process, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> None:
        self.operator, self.process, self.inputs, self.outputs = operator, process, inputs, outputs
        self.number = 0
        self.can_queue = True  # not where a sharded operator's results are merged
        self.always = self.is_ordered = self.is_queued = self.is_busy = False
        self.places: bool | None = False  # whether what it emits needs positions; None: leave them as they are
        self.needs_visits = False  # whether it, or a stage behind it, must hear of steps that bring it nothing
        self.producers = 1
        self.readers: tuple[ThreadedStage, ...] = ()
        self.frees: tuple[int, ...] = ()  # streams that nobody needs once it has read them
        self.turn = 0
        self.waiting: dict[int, Step] = {}
        self.in_queue = self.most_in_queue = 0

    def has_work(self, step: Step) -> bool:
        """Whether the step brings it tuples or punctuations, or it acts whenever time passes."""
        if self.always:
            return True
        for i in self.inputs:
            block = step.streams[i]
            if block.rows or block.punctuations is not None:
                return True
        return False
