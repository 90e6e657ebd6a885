"""What the engine needs of an operator at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from penstock.block.block import Block
from penstock.block.position import Frontier
from penstock.kernels.snapshot import SnapshotFields


class OperatorRuntime(Protocol):
    """One operator of a graph at run time."""

    def process(self, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        """The blocks it emits, one per output, for one block per input.

        The inputs hold all tuples up to the frontier that were not given before.
        """
        ...

    @property
    def state_bytes(self) -> int:
        """Memory its state takes."""
        ...

    def export(self) -> dict[str, Any]:
        """Its state, nothing where it has none."""
        ...

    def restore(self, state: Any) -> None:
        """Goes on from what `export` gave."""
        ...


class Stateless(SnapshotFields):
    """State of an operator that has none."""

    @property
    def state_bytes(self) -> int:
        return 0
