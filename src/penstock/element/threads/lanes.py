"""Slots with elements of their own, as stages for threads: one deals a step out to lanes of slots, one merges them.

A slot is always in the same lane, and a lane takes steps one at a time and in order: so one thread at a time works on
each slot's state, in the order of its tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.app.operators import Operator
from penstock.block.block import Block
from penstock.block.ordering import in_order
from penstock.block.position import Frontier
from penstock.element.threads.stage import ThreadedStage
from penstock.element.threads.wiring import Wiring, wired
from penstock.operators.protocol import OperatorRuntime

Parts = dict[int, dict[str, Block]]  # by slot and stream
BySlot = Callable[[Mapping[str, Block]], Parts]
StepSlot = Callable[[int, Mapping[str, Block], Frontier], Mapping[str, Block]]


class LaneShare:
    """A lane's slots of a step, each with its place among all of them; goes where a block would."""

    __slots__ = ("parts", "rows")
    punctuations = None
    position = None

    def __init__(self, parts: list[tuple[int, int, Mapping[str, Block]]]) -> None:
        self.parts, self.rows = parts, len(parts)


class SlotLanes:
    """What runs slots one after the other, on several threads; `operator` stands for all in a lane."""

    def __init__(
        self,
        operator: Operator,
        inputs: Mapping[str, Block],
        outputs: Mapping[str, Block],
        by_slot: BySlot,
        step_slot: StepSlot,
        lanes: int,
    ) -> None:
        self._inputs, self._outputs, self._by_slot, self._step_slot = tuple(inputs), tuple(outputs), by_slot, step_slot
        self.number = {name: i for i, name in enumerate((*inputs, *outputs))}
        self.wanted = tuple((name, self.number[name]) for name in outputs)
        self.runtimes: dict[str, OperatorRuntime] = {}  # they belong to slots
        self._lanes = lanes
        self._operator, self._nothing, self._empty = operator, dict(outputs), [*inputs.values(), *outputs.values()]

    def at_depth(self, stream: int, block: Block) -> Block:
        """As it is: the elements of slots have seen to it."""
        return block

    def wiring(self) -> Wiring:
        """New stages, at whose turns no step has been yet."""
        operator, empty = self._operator, list(self._empty)
        sources, first = range(len(self._inputs)), len(empty)
        dealt, done = range(first, first + self._lanes), range(first + self._lanes, first + 2 * self._lanes)
        empty += [LaneShare([])] * (2 * self._lanes)  # type: ignore[list-item]
        outputs = tuple(self.number[name] for name in self._outputs)
        deal = ThreadedStage(operator, self._deal, tuple(sources), tuple(dealt))
        lanes = [ThreadedStage(operator, self._step, (i,), (o,)) for i, o in zip(dealt, done, strict=True)]
        merge = ThreadedStage(operator, self._merge, tuple(done), outputs)
        deal.can_queue = merge.can_queue = False
        for lane in lanes:
            lane.is_ordered = True
        stages = [deal, *lanes, merge]
        for stage in stages:
            stage.places = None
        return wired(stages, set(sources), set(outputs), empty)

    def _deal(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        given = {name: block for name, block in zip(self._inputs, inputs, strict=True) if block.rows}
        lanes: list[list[tuple[int, int, Mapping[str, Block]]]] = [[] for _ in range(self._lanes)]
        for place, (slot, own) in enumerate(self._by_slot(given).items()):
            lanes[slot % self._lanes].append((place, slot, own))
        return tuple(LaneShare(parts) for parts in lanes)  # type: ignore[misc]

    def _step(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        share: LaneShare = inputs[0]  # type: ignore[assignment]
        done = [(place, slot, self._step_slot(slot, own, frontier)) for place, slot, own in share.parts]
        return (LaneShare(done),)  # type: ignore[return-value]

    def _merge(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        shares: Sequence[LaneShare] = inputs  # type: ignore[assignment]
        parts = sorted((part for share in shares for part in share.parts), key=lambda part: part[0])
        blocks = {name: [own[name] for _, _, own in parts if name in own] for name in self._outputs}
        return tuple(in_order(own) if own else self._nothing[name] for name, own in blocks.items())
