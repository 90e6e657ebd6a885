"""What an intake says about event time: ticks of the tuples that it lets go, of idle partitions, and of the end."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.app.graph import Graph
from penstock.block.block import Block
from penstock.block.position import EVERYTHING, Frontier
from penstock.element.intake import Intake
from penstock.kernels.watermark import END, ENDED, IDLE, KNOWN
from penstock.operators.watermark.source_ticks import all_ticks, source_ticks, tick_at
from penstock.plan.elements.watermarks import watermarks


class IntakeClock:
    """Makes the ticks of one micro-batch; `note_idle` begins one."""

    def __init__(self, graph: Graph, intakes: Mapping[str, Intake]) -> None:
        self._ticks = source_ticks(graph.sources, watermarks(graph))
        self._intakes = {name: intake for name, intake in intakes.items() if name in self._ticks}
        self._idle: dict[str, set[int]] = {}
        self._arrived: dict[str, set[int]] = {}
        self._ends = False

    def note_idle(self, partitions: Mapping[str, tuple[int, ...]]) -> None:
        """The partitions, by source, that count as idle, unless they deliver in this micro-batch."""
        self._idle = {name: set(own) for name, own in partitions.items() if name in self._intakes}
        self._arrived, self._ends = {}, False

    def note_arrival(self, source: str, partition: int) -> None:
        if source in self._intakes:
            self._arrived.setdefault(source, set()).add(partition)

    def note_end(self) -> None:
        self._ends = True

    def before(self, frontier: Frontier) -> Block | None:
        """What stands before all tuples of the micro-batch, behind all that went before it."""
        ticks = [tick_at(frontier, ENDED, own.place) for own in self._intakes.values() if own.finished and not own.rows]
        for name, intake in self._intakes.items():
            arrived = self._arrived.get(name, set())
            ticks += [tick_at(frontier, KNOWN, intake.place, part) for part in sorted(arrived - {0})]
            idle = self._idle.get(name, set()) - arrived
            ticks += [tick_at(frontier, IDLE, intake.place, part) for part in sorted(idle)]
        return all_ticks(ticks)

    def of_step(self, blocks: Mapping[str, Block]) -> Block | None:
        """The ticks of tuples that are let go, and of sources whose last ones they are."""
        ticks: list[Block] = []
        for name, block in blocks.items():
            if name not in self._intakes:
                continue
            intake, start = self._intakes[name], 0
            for partition, rows in intake.taken_runs:
                own = self._ticks[name].of(block.slice(start, start + rows), partition)
                ticks += [] if own is None else [own]
                start += rows
            if intake.finished and not intake.rows:
                ticks.append(tick_at(intake.last, ENDED, intake.place))
        return all_ticks(ticks)

    def at_end(self) -> Block | None:
        return tick_at(EVERYTHING, END) if self._ends else None
