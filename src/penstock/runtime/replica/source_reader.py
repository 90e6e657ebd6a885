"""What a task reads of sources: ranges of offsets, or sealed blocks of sources that have none, become tuples."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.block.block import Block
from penstock.block.envelope import seal, unseal
from penstock.block.position import EVERYTHING, LAST, Frontier, source_position
from penstock.connectors.arriving.arrival import INTAKE, ArrivalColumn, Arrived
from penstock.connectors.offsets import offset_source
from penstock.connectors.planned.row_numbers import check_in_place, first_of
from penstock.connectors.port import OffsetSource
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message
from penstock.runtime.replica.arrivals import TaskArrivals, column_s
from penstock.runtime.replica.clock_sender import ClockSender
from penstock.runtime.replica.element_worker import ElementWorker
from penstock.runtime.replica.far_ahead import without_far_ahead
from penstock.runtime.replica.source_rows import LETTERS, RAW, SPLIT
from penstock.runtime.replica.split_blocks import SplitBlocks
from penstock.runtime.sources.raw_rows import raw_block
from penstock.state.checkpoint.batch_plan import BatchPlan


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A range of offsets of a source, with the tuples themselves where they are not known by offsets.

    `block` has what was read of a split already, `arrived` when its tuples came where the source says so.
    """

    source: str
    start: int
    stop: int
    payload: bytes | None
    block: Block | None = None
    arrived: Arrived | None = None

    @property
    def is_known(self) -> bool:
        """Whether its tuples are known by their offsets."""
        return self.payload is None and self.block is None


class SourceReader:
    """Reads the sources of one task's element; the rows of other elements' sources are sent on to them."""

    def __init__(self, worker: ElementWorker, plan: BatchPlan, replica: int, clock: ClockSender) -> None:
        self._worker, self._plan, self._clock = worker, plan, clock
        layout = worker.layout
        self._reads_all = layout.pipeline.has_intake and worker.number == 0
        self.sends_ticks = bool(layout.watermarks) and not layout.pipeline.has_intake  # else the intake does
        self.arrivals = TaskArrivals()
        self._sources: dict[str, OffsetSource | None] = {}
        self._splits: dict[str, SplitBlocks] = {}
        self._packed: bytes | None = None
        self._sent = self._replica = replica
        self._raw_rows = 0  # of a DataFrame, so far

    def own(self, rows: Iterable[Mapping[str, object]]) -> Iterator[SourceRow | Message]:
        """The rows to be read here; those of other elements and dead letters as messages."""
        reads = self._worker.reads
        for row in rows:
            self._packed = row["frontier"] or self._packed  # type: ignore[assignment]
            name, start = str(row["source"]), int(row["start"])  # type: ignore[call-overload]
            if start == LETTERS:
                yield Message(0, message.RESULT, message.LETTERS, name, 0, row["payload"])
                continue
            if start == RAW:
                yield from self._raw(name, row["payload"])
                continue
            own = SourceRow(name, start, int(row["stop"]), row["payload"])  # type: ignore[call-overload, arg-type]
            if self._reads_all or name in reads:
                yield from self.expanded(own)
            else:
                yield self._sent_on(own)

    def expanded(self, row: SourceRow) -> Iterator[SourceRow]:
        """The rows of a split, each with its block; any other row as it is."""
        if row.start != SPLIT or row.payload is None:
            yield row
            return
        if row.source not in self._splits:
            rows, graph = self._plan.configuration.block_rows, self._worker.fixed.graph
            source = self._worker.source(row.source)
            self._splits[row.source] = SplitBlocks(graph, source, self._worker.letters, rows)
        splits = self._splits[row.source]
        for first, block in splits.read(row.payload):
            block = self._placed(row.source, first, block)
            yield SourceRow(row.source, first, first + block.rows, None, block, splits.arrived)

    def _raw(self, name: str, batch: pa.RecordBatch) -> Iterator[SourceRow | Message]:
        """Rows of a DataFrame as Spark has them; their numbers begin with the task's, the same when it runs again."""
        source = self._worker.source(name)
        block = raw_block(self._worker.fixed.graph, source, batch, self._worker.letters)
        first = first_of(self._replica) + self._raw_rows
        check_in_place(first, block.rows, name)
        self._raw_rows += block.rows
        if not block.rows:
            return
        if self._reads_all or name in self._worker.reads:
            yield SourceRow(name, first, first + block.rows, None, self._placed(name, first, block))
        else:
            yield self._sent_on(SourceRow(name, first, first + block.rows, seal(block).to_pybytes()))

    def _sent_on(self, row: SourceRow) -> Message:
        elements = self._worker.layout.pipeline.elements
        number = next(n for n, element in enumerate(elements) if row.source in element.operators)
        replicas = self._plan.configuration.element(elements[number].name).replicas
        self._sent += 1
        payload = pickle.dumps((row.stop, row.payload))
        return Message(self._sent % replicas, number, message.ROW, row.source, row.start, payload)

    @staticmethod
    def sent(m: Message) -> SourceRow:
        """A row that the first element sent on."""
        return SourceRow(m.name, m.sequence, *pickle.loads(memoryview(m.payload)))

    def block(self, row: SourceRow) -> Block:
        """The tuples of a row."""
        if row.block is not None:
            return row.block
        source, layout = self._worker.source(row.source), self._worker.layout
        if row.payload is not None:
            return self._placed(row.source, row.start, unseal(pa.py_buffer(row.payload), source.schema))
        if row.source not in self._sources:
            self._sources[row.source] = offset_source(source, self._worker.fixed.graph.sources.index(source))
        opened = self._sources[row.source]
        assert opened is not None
        block = opened.block(row.start, row.stop, positioned=self._has_positions(row.source))
        return self._placed(row.source, row.start, block) if layout.goes_by_micro_batch else block

    def arrived(self, row: SourceRow, block: Block) -> Arrived | None:
        """When the tuples of a row that was read arrived; None where the driver knows it by a schedule."""
        source, planned_s = self._worker.source(row.source), self._plan.planned_s
        if isinstance(source.arrival, ArrivalColumn):
            return Arrived(column_s(block, source.arrival.name, planned_s), "column")
        if source.arrival == INTAKE:
            return Arrived(planned_s, INTAKE)
        opened = self._sources.get(row.source)
        if row.is_known and opened is not None and opened.has_schedule:
            return None
        return row.arrived or Arrived(planned_s, INTAKE)

    def _placed(self, name: str, start: int, block: Block) -> Block:
        """The block with positions by the time at which its batch was planned, where it needs any."""
        if self._has_positions(name):
            place = self._worker.fixed.graph.sources.index(self._worker.source(name))
            block.position = source_position(np.full(block.rows, self._plan.planned_s), place, start)
        return block

    def _has_positions(self, name: str) -> bool:
        layout = self._worker.layout
        return name in layout.positioned and not layout.pipeline.has_intake

    def usable(self, row: SourceRow, block: Block) -> Block:
        """The tuples of a source that are not too far ahead, which count as arrived."""
        if row.source not in self._worker.watched_sources:
            return block
        source = self._worker.source(row.source)
        block = without_far_ahead(block, source, self._plan.planned_s, self._worker.letters)
        self.arrivals.add(source, row.start, block)
        return block

    def ticks(self, row: SourceRow, block: Block) -> Iterator[Message]:
        """What elements that go by watermarks are told of a block."""
        if not self.sends_ticks:
            return
        source = self._worker.source(row.source)
        yield from self._clock.of_block(source, row.start, block)
        if self._is_last(row):
            opened = self._sources[row.source]
            assert opened is not None
            by_batch = self._worker.layout.goes_by_micro_batch
            stamp = self._plan.planned_s if by_batch else opened.stamp(row.stop - 1)
            place = self._worker.fixed.graph.sources.index(source)
            yield from self._clock.of_end(source, Frontier(stamp, place, row.stop - 1))

    def ended(self, row: SourceRow) -> Iterator[Message]:
        """Says to the intake that nothing comes behind the last row of a source."""
        if self._is_last(row):
            yield Message(0, 1, message.ENDED, row.source, row.start, b"")

    @property
    def frontier(self) -> Frontier | None:
        """How far the batch goes in the order of all tuples, where its rows say so."""
        if self._plan.ends:
            return EVERYTHING
        if self._worker.layout.goes_by_micro_batch:  # all of the batch is here, and nothing of later ones
            return Frontier(self._plan.planned_s, LAST, LAST)
        return None if self._packed is None else message.unpack_frontier(self._packed)

    def _is_last(self, row: SourceRow) -> bool:
        opened = self._sources.get(row.source)
        return opened is not None and opened.total == row.stop
