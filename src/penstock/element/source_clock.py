"""What the sources of an element say about event time, step by step: the ticks that go with each step's blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.app.graph import Graph
from penstock.block.block import Block
from penstock.block.position import EVERYTHING, Frontier
from penstock.element.intake import Intake
from penstock.kernels.watermark import END, ENDED, IDLE
from penstock.operators.watermark.source_ticks import TICKS, all_ticks, source_ticks, tick_at
from penstock.plan.elements.watermarks import watermarks


class SourceClock:
    """Makes ticks of the tuples of each step, and of what becomes of sources: idle, ended, the end of all."""

    def __init__(self, graph: Graph, intakes: Mapping[str, Intake]) -> None:
        self._ticks = source_ticks(graph.sources, watermarks(graph))
        self._intakes = {name: intake for name, intake in intakes.items() if name in self._ticks}
        self._silence: dict[str, int] = {}  # by source, what it was said to be
        self._waiting: list[Block] = []  # to go with the next step

    @property
    def is_needed(self) -> bool:
        """Whether any operator goes by a watermark."""
        return bool(self._ticks)

    @property
    def has_news(self) -> bool:
        """Whether there are ticks without tuples to go with."""
        return bool(self._waiting)

    def note_idle(self, sources: Iterable[str], frontier: Frontier) -> None:
        """Says which sources are idle now; one that delivers again is not."""
        idle = set(sources)
        for name in [own for own, said in self._silence.items() if said == IDLE and own not in idle]:
            del self._silence[name]
        for name in sorted(idle & self._ticks.keys() - self._silence.keys()):
            self._say(name, IDLE, frontier)

    def note_end(self) -> None:
        """Fires all that is held: nothing more comes of any source."""
        self._waiting.append(tick_at(EVERYTHING, END))

    def with_ticks(self, blocks: Mapping[str, Block]) -> dict[str, Block]:
        """The blocks of a step, with their ticks as one more stream."""
        own = [self._ticks[name].of(block) for name, block in blocks.items() if name in self._ticks]
        for name, intake in self._intakes.items():
            if intake.finished and not intake.rows and self._silence.get(name) != ENDED:
                self._say(name, ENDED, intake.last)
        ticks = all_ticks([*(block for block in own if block is not None), *self._waiting])
        self._waiting = []
        return dict(blocks) if ticks is None else {**blocks, TICKS: ticks}

    def _say(self, source: str, what: int, frontier: Frontier) -> None:
        self._silence[source] = what
        self._waiting.append(tick_at(frontier, what, self._intakes[source].place))
