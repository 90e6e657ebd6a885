"""The intake as an element: tuples of all sources put in order in one place, with the operators fused to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.app.graph import Graph
from penstock.block.block import Block, concat_blocks
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import EVERYTHING, Frontier
from penstock.element.element import Element
from penstock.element.intake import Intake, IntakePiece
from penstock.element.intake_clock import IntakeClock
from penstock.element.steps import Steps
from penstock.kernels.snapshot import SnapshotFields
from penstock.operators.protocol import OperatorRuntime
from penstock.operators.watermark.source_ticks import TICKS

RunSteps = Callable[[Iterable[tuple[dict[str, Block], Frontier]]], Iterator[dict[str, Block]]]


@dataclass(frozen=True, slots=True)
class WaitingPiece:
    """What one micro-batch changed of the tuples that wait."""

    pieces: tuple[IntakePiece, ...]
    frontier: Frontier

    @property
    def whole_bytes(self) -> int:
        return sum(piece.whole_bytes for piece in self.pieces)

    def after(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state of all that waits after it."""
        intakes = tuple(piece.after(own) for piece, own in zip(self.pieces, state["intakes"], strict=True))
        return {"intakes": intakes, "frontier": self.frontier}


class WaitingTuples(SnapshotFields):
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

    def piece(self) -> WaitingPiece:
        """What changed since it was logged last."""
        return WaitingPiece(tuple(intake.piece() for intake in self.intakes), self.frontier)

    @property
    def state_bytes(self) -> int:
        return sum(intake.waiting_bytes for intake in self.intakes)


class IntakeElement:
    """Blocks of sources as they came in, blocks of the element's outputs out, up to `frontier`."""

    def __init__(
        self, name: str, element: Element, graph: Graph, positioned: frozenset[str], letters: DeadLetters, rows: int
    ) -> None:
        intakes = {s.name: Intake(s, place, s.name in positioned, letters) for place, s in enumerate(graph.sources)}
        has_idle = any(source.idle_timeout_s is not None for source in graph.sources)
        self.element, self._steps = element, Steps(intakes, rows, self._is_idle if has_idle else None)
        self._idle: frozenset[str] = frozenset()
        self._clock, self._idle_ticks = IntakeClock(graph, intakes), list[Block]()
        self.runtimes: dict[str, OperatorRuntime] = {**element.runtimes, name: WaitingTuples(self._steps)}  # type: ignore[dict-item]

    @property
    def frontier(self) -> Frontier:
        return self._steps.frontier

    def note_logged(self) -> None:
        """All that waits now was logged: the next log has what changes from here on."""
        for intake in self._steps.intakes.values():
            intake.note_logged()

    def note_idle(self, sources: Iterable[str], partitions: Mapping[str, tuple[int, ...]]) -> None:
        """Says which sources, and which partitions, have delivered nothing for so long that nobody waits for them."""
        self._idle, self._idle_ticks = frozenset(sources), []
        self._clock.note_idle(partitions)

    def note_end(self) -> None:
        """Says that all sources have ended, and that windows fire what they hold."""
        self.end(self._steps.intakes)
        self._clock.note_end()

    @property
    def ticks(self) -> Sequence[Block]:
        """What the last step says about event time, for other elements."""
        return self._idle_ticks

    def end(self, sources: Iterable[str]) -> None:
        """Says that nothing more comes of some sources; the next step goes as far as that lets it."""
        for name in sources:
            self._steps.intakes[name].finished = True

    def add(self, source: str, partition: int, block: Block) -> None:
        """Takes over a block of a source; the next step goes as far as that lets it."""
        if self._steps.intakes[source].add_block(block, partition):
            self._idle -= {source}
            self._clock.note_arrival(source, partition)

    def step(
        self, blocks: Mapping[str, Block], frontier: Frontier, run: RunSteps | None = None
    ) -> dict[str, Block]:  # fmt: skip
        """Takes over blocks of sources; `frontier` is what the tuples themselves say, `run` steps the operators."""
        for name, block in blocks.items():
            self.add(name, 0, block)
        self._drop_overtaken()
        outputs: dict[str, list[Block]] = {}
        for given in (run or self._one_by_one)(self._ready()):
            for name, block in given.items():
                outputs.setdefault(name, []).append(block)
        return {name: concat_blocks(parts) for name, parts in outputs.items()}

    def _drop_overtaken(self) -> None:
        for intake in self._steps.intakes.values():
            timeout_s = intake.source.idle_timeout_s
            if timeout_s is not None and intake.rows and intake.merged:
                intake.drop_overtaken(self._steps.frontier, timeout_s)

    def _is_idle(self, intake: Intake) -> bool:
        return intake.source.name in self._idle and not intake.finished

    def _ready(self) -> Iterator[tuple[dict[str, Block], Frontier]]:
        yield from self._with_ticks({}, self._clock.before(self._steps.frontier))
        for step in self._steps.take():
            yield from self._with_ticks(step, self._clock.of_step(step))
        if all(intake.finished for intake in self._steps.intakes.values()):
            self._steps.frontier = EVERYTHING
            yield from self._with_ticks({}, self._clock.at_end())
            yield {}, EVERYTHING

    def _with_ticks(self, blocks: dict[str, Block], ticks: Block | None) -> Iterator[tuple[dict[str, Block], Frontier]]:
        """A step with what it says about event time, where an operator of the element goes by that."""
        if ticks is not None:
            self._idle_ticks.append(ticks)
            if TICKS in self.element.number:
                blocks = {**blocks, TICKS: ticks}
        if blocks:
            yield blocks, self._steps.frontier

    def _one_by_one(self, steps: Iterable[tuple[dict[str, Block], Frontier]]) -> Iterator[dict[str, Block]]:
        for blocks, frontier in steps:
            yield self.element.step(blocks, frontier)
