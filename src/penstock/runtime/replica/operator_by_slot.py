"""One operator whose state is kept by slot, in an element that is not cut into slots itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.app.operators import Operator
from penstock.block.block import Block, empty_block
from penstock.block.position import Frontier
from penstock.kernels.snapshot import SnapshotFields
from penstock.operators.watermark.source_ticks import TICKS
from penstock.runtime.replica.element_by_slot import Before, ElementBySlot
from penstock.runtime.replica.event_time_element import EventTimeElement
from penstock.state.checkpoint.entries import Entries
from penstock.state.extents import Integers
from penstock.state.token import Token


class OperatorBySlot(SnapshotFields):
    """Runs an operator as an element of its own does, so that its state is the same wherever it is fused."""

    def __init__(self, operator: Operator, own: ElementBySlot | EventTimeElement, slots: int) -> None:
        self.slots = slots
        self._own, self._inputs, self._outputs = own, operator.inputs, operator.outputs
        self._empty = empty_block(operator.schema)

    @property
    def state_bytes(self) -> int:
        return sum(self._own.state_bytes.values())

    def open(self, slots: Integers, before: Before, token: Token) -> int:
        """Takes slots for a task; gives how many objects had to be read from logs."""
        return self._own.open(slots, before, token)

    def commit(self) -> dict[str, Entries]:
        """Logs what changed."""
        return self._own.commit()

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        blocks: Mapping[str, Block] = dict(zip((*self._inputs, TICKS), inputs, strict=False))
        outputs: dict[str, Any] = self._own.step(blocks, frontier)
        return tuple(outputs.get(name, self._empty) for name in self._outputs)
