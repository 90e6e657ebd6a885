"""The intake as an element: tuples of all sources put in order in one place, with the operators fused to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from penstock.app.graph import Graph
from penstock.block.block import Block, concat_blocks
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import EVERYTHING, Frontier
from penstock.element.element import Element
from penstock.element.intake import Intake
from penstock.element.steps import Steps
from penstock.kernels.snapshot import SnapshotFields
from penstock.operators.protocol import OperatorRuntime

RunSteps = Callable[[Iterable[tuple[dict[str, Block], Frontier]]], Iterator[dict[str, Block]]]


class _Waiting(SnapshotFields):
    """The tuples that wait for others to come before them, kept like an operator's state."""

    snapshot_fields = ("intakes", "frontier")

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    @property
    def intakes(self) -> tuple[Intake, ...]:
        return tuple(self._steps.intakes.values())

    @property
    def frontier(self) -> Frontier:
        return self._steps.frontier

    @frontier.setter
    def frontier(self, frontier: Frontier) -> None:
        self._steps.frontier = frontier

    @property
    def state_bytes(self) -> int:
        return sum(intake.rows for intake in self.intakes)


class IntakeElement:
    """Blocks of sources as they came in, blocks of the element's outputs out, up to `frontier`."""

    def __init__(
        self, name: str, element: Element, graph: Graph, positioned: frozenset[str], letters: DeadLetters, rows: int
    ) -> None:
        intakes = {s.name: Intake(s, place, s.name in positioned, letters) for place, s in enumerate(graph.sources)}
        self.element, self._steps = element, Steps(intakes, rows)
        self.runtimes: dict[str, OperatorRuntime] = {**element.runtimes, name: _Waiting(self._steps)}  # type: ignore[dict-item]

    @property
    def frontier(self) -> Frontier:
        return self._steps.frontier

    def end(self, sources: Iterable[str]) -> None:
        """Says that nothing more comes of some sources; the next step goes as far as that lets it."""
        for name in sources:
            self._steps.intakes[name].finished = True

    def step(
        self, blocks: Mapping[str, Block], frontier: Frontier, run: RunSteps | None = None
    ) -> dict[str, Block]:  # fmt: skip
        """Takes over blocks of sources; `frontier` is what the tuples themselves say, `run` steps the operators."""
        for name, block in blocks.items():
            self._steps.intakes[name].add_block(block)
        outputs: dict[str, list[Block]] = {}
        for given in (run or self._one_by_one)(self._ready()):
            for name, block in given.items():
                outputs.setdefault(name, []).append(block)
        return {name: concat_blocks(parts) for name, parts in outputs.items()}

    def _ready(self) -> Iterator[tuple[dict[str, Block], Frontier]]:
        for step in self._steps.take():
            yield step, self._steps.frontier
        if all(intake.finished for intake in self._steps.intakes.values()):
            self._steps.frontier = EVERYTHING
            yield {}, EVERYTHING

    def _one_by_one(self, steps: Iterable[tuple[dict[str, Block], Frontier]]) -> Iterator[dict[str, Block]]:
        for blocks, frontier in steps:
            yield self.element.step(blocks, frontier)
