"""What a task tells elements that go by watermarks about the event time of sources: ticks, to all of their replicas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.app.operators import Source
from penstock.block.block import Block
from penstock.block.envelope import seal
from penstock.block.position import EVERYTHING, Frontier
from penstock.kernels.watermark import END, ENDED, IDLE, KNOWN
from penstock.operators.watermark.source_ticks import TICKS, all_ticks, tick_at
from penstock.plan.elements.merged_sources import has_known_stamps
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message
from penstock.runtime.replica.element_worker import ElementWorker, is_empty
from penstock.runtime.replica.source_rows import partition_of
from penstock.state.checkpoint.batch_plan import BatchPlan

_BEFORE_ALL = Frontier(float("-inf"), -1, 0)


class ClockSender:
    """Sends the ticks of one task; the one of replica 0 also says what the plan of the batch says of sources."""

    def __init__(self, worker: ElementWorker, plan: BatchPlan, replica: int) -> None:
        self._worker, self._plan, self._replica = worker, plan, replica
        self._places = {source.name: place for place, source in enumerate(worker.fixed.graph.sources)}
        self._known: set[tuple[str, int]] = set()

    def of_plan(self) -> Iterator[Message]:
        """Which partitions are idle, and whether all sources have ended."""
        if self._replica:
            return
        before = Frontier(self._plan.planned_s, -1, 0)
        ticks = [
            tick_at(before, IDLE, self._places[name], partition)
            for name, partitions in self._plan.idle.items()
            for partition in partitions
            if self._stands_by_planning_time(name)
        ]
        ticks += [
            tick_at(_BEFORE_ALL, ENDED, place)
            for place, source in enumerate(self._worker.fixed.graph.sources)
            if is_empty(source)
        ]
        if self._plan.ends:
            ticks.append(tick_at(EVERYTHING, END))
        for number in self._worker.layout.watermarks if ticks else ():
            yield from self.sent(number, ticks)

    def of_block(self, source: Source, start: int, block: Block) -> Iterator[Message]:
        """The ticks of a source's block; the first of a partition says that there is one, before all tuples."""
        partition = partition_of(source, start)
        is_new = (source.name, partition) not in self._known
        self._known.add((source.name, partition))
        for number in self._worker.layout.watermarks:
            maker = self._worker.source_ticks(number).get(source.name)
            if maker is None:
                continue
            ticks = [tick_at(_BEFORE_ALL, KNOWN, self._places[source.name], partition)] if is_new and partition else []
            own = maker.of(block, partition)
            yield from self.sent(number, ticks if own is None else [*ticks, own])

    def of_end(self, source: Source, last: Frontier) -> Iterator[Message]:
        """Says that nothing of a source comes behind a place of the order."""
        for number in self._worker.layout.watermarks:
            yield from self.sent(number, [tick_at(last, ENDED, self._places[source.name])])

    def sent(self, number: int, ticks: Iterable[Block]) -> Iterator[Message]:
        """Ticks on their way to all replicas of an element."""
        joined = all_ticks(list(ticks))
        if joined is None:
            return
        payload = seal(joined)
        element = self._worker.layout.pipeline.elements[number]
        for replica in range(self._plan.configuration.element(element.name).replicas):
            yield Message(replica, number, message.CLOCK, TICKS, 0, payload)

    def _stands_by_planning_time(self, name: str) -> bool:
        """Whether the stamps of a source's tuples are the times at which their batches were planned."""
        source = self._worker.fixed.graph.operator(name)
        assert isinstance(source, Source)
        return self._worker.layout.goes_by_micro_batch or not has_known_stamps(source)
