"""One task: a replica's share of an element in one micro-batch, messages in and messages out, without Spark."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from penstock.app import operators as ops
from penstock.block.block import Block, concat_blocks
from penstock.block.dead_letters import DeadLetters
from penstock.block.envelope import seal, unseal
from penstock.block.ordering import in_order, joint_steps
from penstock.block.position import EVERYTHING, Frontier, source_position
from penstock.connectors.discard import DiscardSink
from penstock.connectors.files.staged_file import StagedFile
from penstock.connectors.offsets import offset_source
from penstock.connectors.parquet import ParquetSink
from penstock.connectors.port import OffsetSource
from penstock.element.threads.element_threads import ElementThreads
from penstock.kernels.dealing import deal
from penstock.measure.task.task_meters import TaskStart, block_bytes, encoded
from penstock.measure.task.triggers import UNKNOWN
from penstock.plan.elements.pipeline import PipelineElement
from penstock.runtime.migration.deferred_tuples import together
from penstock.runtime.migration.held_tuples import held_before
from penstock.runtime.migration.waiting_tuples import Waiting
from penstock.runtime.replica import message
from penstock.runtime.replica.element_by_slot import ElementBySlot
from penstock.runtime.replica.element_worker import ElementWorker
from penstock.runtime.replica.message import Message
from penstock.runtime.replica.side_input import SideInputSender, read_side_input
from penstock.runtime.replica.source_rows import LETTERS
from penstock.runtime.slots.state_slots import slot_function
from penstock.state.checkpoint.checkpoint import BatchPlan
from penstock.state.slots.hashing import Slots
from penstock.state.slots.row_checksum import add_checksums, checksum_of


class ElementTask:
    """What one replica does; its messages for elements further on pass it unread."""

    def __init__(
        self, worker: ElementWorker, plan: BatchPlan, replica: int, attempt: int, start: TaskStart | None = None
    ) -> None:
        self.figures = worker.meters.begin(replica, start or TaskStart())
        self.trigger = (UNKNOWN, 0, 0)  # place of a source and offsets of the block at hand: the first, and how many
        self.worker, self.plan, self.replica, self.attempt = worker, plan, replica, attempt
        self.rebuilt = self.steps = self.dealt = self.resumed = 0
        self.discarded: dict[str, tuple[int, int]] = {}
        self.files: dict[str, StagedFile] = {}
        self.sources: dict[str, OffsetSource | None] = {}
        self.threads: ElementThreads | None = None

    def run_first(self, rows: Iterable[Mapping[str, object]]) -> Iterator[Message]:
        """The first element: ranges of offsets, or sealed blocks of sources that have none, become tuples."""
        self.worker.letters.drain()
        try:
            yield from self._released()
            yield from self._run_sources(rows)
        finally:
            self.worker.close()
        yield from self._end({})

    def _run_sources(self, rows: Iterable[Mapping[str, object]]) -> Iterator[Message]:
        self.threads = self.worker.threads(self.plan, self.replica)
        frontier: bytes | None = None
        for row in rows:
            frontier = row["frontier"] or frontier  # type: ignore[assignment]
            name, start = str(row["source"]), int(row["start"])  # type: ignore[call-overload]
            if start == LETTERS:
                yield _result(message.LETTERS, name, row["payload"])  # type: ignore[arg-type]
                continue
            block = self._source_block(name, start, int(row["stop"]), row["payload"])  # type: ignore[call-overload]
            self._took_source(name, start, block, known=row["payload"] is None)
            if self.worker.layout.pipeline.has_intake:
                yield self._envelope(0, 1, name, start, block)
                source = self.sources.get(name)
                if source is not None and source.total == row["stop"]:
                    yield Message(0, 1, message.ENDED, name, start, b"")
            else:
                yield from self._step({name: block}, EVERYTHING, start)
        yield from self._rest()
        if frontier is not None:
            yield from self._frontier_to(self.worker.layout.paced, frontier)

    def run_next(self, messages: Iterable[Message]) -> Iterator[Message]:
        """A later element: blocks in the order of their sequence or position, whatever the order of their delivery."""
        mine: list[Message] = []
        for m in messages:
            if m.element != self.worker.number:
                yield m
                continue
            if m.replica != self.replica:
                raise ValueError(f"a block for replica {m.replica} came to replica {self.replica}")
            mine.append(m)
        mine.sort(key=lambda m: (m.sequence, m.name))
        self.rebuilt = self.worker.open(self.plan, self.replica, self.attempt)
        try:
            self.threads = self.worker.threads(self.plan, self.replica)
            yield from self._run_intake(mine) if self.worker.is_intake else self._run_steps(mine)
            yield from self._rest()
            entries = self.worker.commit()
        finally:
            self.worker.close()
        yield from self._end(entries)

    def _run_steps(self, mine: list[Message]) -> Iterator[Message]:
        positioned: dict[str, list[Block]] = {}
        for stream, (waiting, block) in self._earlier().items():
            if stream in self.worker.layout.positioned:
                positioned[stream] = [block]
                continue
            self.trigger = (self.worker.source_places.get(stream, UNKNOWN), waiting.sequence, waiting.offsets)
            yield from self._step({stream: block}, EVERYTHING, waiting.sequence)
        frontiers = [message.unpack_frontier(m.payload) for m in mine if m.kind == message.FRONTIER]
        if self.worker.event_time_operator is not None:
            self.worker.take_side_input(read_side_input(self.worker, mine, self._opened))
        for m in mine:
            if m.kind != message.BLOCK:
                continue
            block = self._opened(m)
            if self.worker.deferred is not None:
                block = self.worker.deferred.ready(m.name, m.sequence, block)
                if not block.rows:
                    continue
            rows = self.plan.configuration.block_rows
            self.trigger = (self.worker.source_places.get(m.name, UNKNOWN), m.sequence, rows)
            if m.name in self.worker.layout.positioned:
                positioned.setdefault(m.name, []).append(block)
            else:
                yield from self._step({m.name: block}, EVERYTHING, m.sequence)
        self.trigger = (UNKNOWN, 0, 0)
        ordered = {name: in_order(blocks) for name, blocks in positioned.items()}
        for blocks, frontier in joint_steps(ordered, self.plan.configuration.block_rows):
            yield from self._step(blocks, frontier, self.steps)
        if frontiers and self.worker.number in self.worker.layout.paced:
            yield from self._step({}, max(frontiers), self.steps)
        if self.worker.event_time_operator is not None:
            yield from self._step({}, EVERYTHING, self.steps)

    def _earlier(self) -> Mapping[str, tuple[Waiting, Block]]:
        """What earlier batches put off, and goes first now."""
        deferred = self.worker.deferred
        waiting = [] if deferred is None else deferred.earlier()
        self.resumed += sum(own.tuples for own in waiting)
        return together(waiting, lambda stream, payload: unseal(payload, self.worker.graph.producer(stream).schema))

    def _run_intake(self, mine: list[Message]) -> Iterator[Message]:
        raw: dict[str, list[Block]] = {}
        intake = self.worker.operators
        assert isinstance(intake, ElementBySlot)
        intake.end_sources(m.name for m in mine if m.kind == message.ENDED)
        for m in mine:
            if m.kind == message.BLOCK:
                raw.setdefault(m.name, []).append(self._opened(m))
        yield from self._step({name: concat_blocks(blocks) for name, blocks in raw.items()}, EVERYTHING, 0)
        frontier = intake.frontier
        if frontier is not None:
            paced = [number for number in self.worker.layout.paced if number != self.worker.number]
            yield from self._frontier_to(paced, message.pack_frontier(frontier))

    def _step(self, blocks: Mapping[str, Block], frontier: Frontier, sequence: int) -> Iterator[Message]:
        place = (sequence if self.worker.keeps_sequence else self.steps, self.trigger)
        self.steps += 1
        if self.threads is None or self.worker.is_intake:
            yield from self._emitted(self._stepped(blocks, frontier), *place)
            return
        self.worker.operators.note_step()
        for (number, trigger), outputs in self.threads.feed(blocks, frontier, place):
            yield from self._emitted(outputs, number, trigger)

    def _rest(self) -> Iterator[Message]:
        """What threads have not given yet."""
        if self.threads is None:
            return
        for (number, trigger), outputs in self.threads.rest():
            yield from self._emitted(outputs, number, trigger)

    def _stepped(self, blocks: Mapping[str, Block], frontier: Frontier) -> dict[str, Block]:
        if self.threads is not None:
            intake = self.worker.operators
            assert isinstance(intake, ElementBySlot)
            return intake.intake.step(blocks, frontier, self.threads.run)
        if not self.figures.step_turn.is_due():
            return self.worker.step(blocks, frontier)
        start_ns = time.perf_counter_ns()
        outputs = self.worker.step(blocks, frontier)
        self.figures.service.add(sum([b.rows for b in blocks.values()]), time.perf_counter_ns() - start_ns)
        return outputs

    def _opened(self, m: Message) -> Block:
        block = unseal(m.payload, self.worker.graph.producer(m.name).schema)
        self.figures.took(m.name, block.rows, len(m.payload))
        return block

    def _took_source(self, name: str, start: int, block: Block, *, known: bool) -> None:
        self.figures.took(name, block.rows, block_bytes(block))
        place = [source.name for source in self.worker.fixed.graph.sources].index(name)
        self.trigger = (place if known else UNKNOWN, start, self.plan.configuration.block_rows)
        if known:  # by its offsets
            self.figures.took_offsets(name, start, start + block.rows)

    def _source_block(self, name: str, start: int, stop: int, payload: object) -> Block:
        graph, layout = self.worker.fixed.graph, self.worker.layout
        source = graph.operator(name)
        assert isinstance(source, ops.Source)
        place = graph.sources.index(source)
        positioned = name in layout.positioned and not layout.pipeline.has_intake
        if payload is not None:
            block = unseal(pa.py_buffer(payload), source.schema)
            if positioned:  # rows have an order, and no stamps that anything depends on
                stamps = np.full(block.rows, float(self.plan.batch))
                block.position = source_position(stamps, place, start)
            return block
        if name not in self.sources:
            self.sources[name] = offset_source(source, place)
        opened = self.sources[name]
        assert opened is not None
        return opened.block(start, stop, positioned=positioned)

    def _emitted(self, outputs: Mapping[str, Block], sequence: int, trigger: tuple[int, int, int]) -> Iterator[Message]:
        for stream in self.worker.outputs:
            if stream in outputs:
                yield from self._sent(stream, outputs[stream], sequence)
        for sink in self.worker.sinks:
            if sink.name in outputs and outputs[sink.name].rows:
                block = outputs[sink.name]
                self.figures.gave(sink.name, block.rows, block_bytes(block))
                self.figures.triggers.add(block, *trigger)
                yield from self._sunk(sink, block, sequence)

    def _sent(self, stream: str, block: Block, sequence: int) -> Iterator[Message]:
        """A block's tuples on their way to the replicas of the elements that read them."""
        for number, element in enumerate(self.worker.layout.pipeline.elements):
            if stream in element.inputs and number > self.worker.number:
                rest = block
                if element.name in self.plan.held:
                    rest, held = self._split(element, stream, block)
                    yield from self._held(element.name, stream, sequence, held)
                elif number in self.worker.layout.event_time_elements:
                    sender = SideInputSender(
                        self.worker, number, self.plan.configuration.element(element.name), self.figures
                    )
                    yield from sender.ticks(stream, block)
                    rest, messages = sender.split(stream, block, sequence)
                    yield from messages
                for replica, part in self._dealt(element, stream, rest) if rest.rows or rest is block else ():
                    yield self._envelope(replica, number, stream, sequence, part)

    def _split(self, element: PipelineElement, stream: str, block: Block) -> tuple[Block, Block]:
        """The tuples that go on, and those that the splitter holds until their slots have come to another host."""
        keys = element.keys[element.inputs.index(stream)]
        is_held = np.isin(self._slots_of(element, keys, block), self.plan.held[element.name])
        return block.take(np.flatnonzero(~is_held)), block.take(np.flatnonzero(is_held))

    def _held(self, element: str, stream: str, sequence: int, block: Block) -> Iterator[Message]:
        if block.rows:
            rows = self.plan.configuration.block_rows
            held = Waiting(stream, sequence, rows, block.rows, seal(block).to_pybytes())
            yield _result(message.HELD, element, pickle.dumps(held))

    def _released(self) -> Iterator[Message]:
        """What was held, sent on before anything else by the one replica that has all of it."""
        for number, element in enumerate(self.worker.layout.pipeline.elements if self.replica == 0 else ()):
            if element.name in self.plan.released:
                for own in held_before(self.worker.checkpoint, self.worker.fixed, element.name, self.plan):
                    self.resumed += own.tuples
                    block = unseal(pa.py_buffer(own.payload), self.worker.fixed.graph.producer(own.stream).schema)
                    for replica, part in self._dealt(element, own.stream, block):
                        yield self._envelope(replica, number, own.stream, own.sequence, part)

    def _envelope(self, replica: int, element: int, stream: str, sequence: int, block: Block) -> Message:
        payload = seal(block)
        self.figures.gave(stream, block.rows, payload.size)
        return Message(replica, element, message.BLOCK, stream, sequence, payload)

    def _dealt(self, element: PipelineElement, stream: str, block: Block) -> Iterator[tuple[int, Block]]:
        own = self.plan.configuration.element(element.name)
        keys = element.keys[element.inputs.index(stream)] if element.scope == "key" else ()
        slots_of = partial(self._slots_of, element, keys, block)
        if own.replicas == 1 or element.scope == "stream":
            if own.route:
                self.figures.slots.sample(element.name, block.rows, len(own.route), slots_of)
            yield 0, block
            return
        if element.scope == "none":
            yield (self.dealt + self.replica) % own.replicas, block
            self.dealt += 1
            return
        rows, starts, counts = deal(slots_of(), np.array(own.route, np.int32), own.replicas)
        self.figures.slots.count(element.name, counts)
        taken = block.take(rows)
        for replica in range(own.replicas):
            if starts[replica + 1] > starts[replica]:
                yield replica, taken.slice(int(starts[replica]), int(starts[replica + 1]))

    def _slots_of(self, element: PipelineElement, keys: tuple[str, ...], block: Block) -> Slots:
        return slot_function(self.worker.fixed, element).slots_of([block.column(key) for key in keys], block.rows)

    def _frontier_to(self, elements: Iterable[int], packed: bytes) -> Iterator[Message]:
        for number in elements:
            yield Message(0, number, message.FRONTIER, "", 0, packed)

    def _sunk(self, sink: ops.Sink, block: Block, sequence: int) -> Iterator[Message]:
        if isinstance(sink.connector, DiscardSink):
            count, total = self.discarded.get(sink.name, (0, 0))
            self.discarded[sink.name] = (count + block.rows, add_checksums(total, checksum_of(block)))
        elif isinstance(sink.connector, ParquetSink) and not sink.connector.ordered:
            if sink.name not in self.files:
                self.files[sink.name] = StagedFile(
                    sink.connector, sink.schema, batch=self.plan.batch, epoch=self.plan.epoch,
                    replica=self.replica, attempt=self.attempt,
                )  # fmt: skip
            self.files[sink.name].write(block)
        else:
            yield Message(0, message.RESULT, message.SINK, sink.name, sequence, seal(block))

    def _end(self, entries: Mapping[str, np.ndarray]) -> Iterator[Message]:
        """What the task has to say beside its tuples; its state is committed by then."""
        for name, own in entries.items():
            yield _result(message.STATE, name, own.tobytes())
        for name, (count, total) in self.discarded.items():
            yield _result(message.DISCARD, name, np.array([count, total], np.uint64).tobytes())
        for name, file in self.files.items():
            yield _result(message.FILE, name, file.close(durable=self.worker.fixed.durable).encode())
        put_off = 0 if self.worker.deferred is None else self.worker.deferred.tuples
        if put_off or self.resumed:
            counts = np.array([put_off, self.resumed], np.int64)
            yield _result(message.DEFERRED, self.worker.planned.name, counts.tobytes())
        letters: DeadLetters = self.worker.letters
        if len(letters):
            yield _result(message.LETTERS, self.worker.planned.name, _ipc(letters.drain()))
        threads = None if self.threads is None else self.threads.left
        name = self.worker.planned.name
        if threads is not None and threads.learned is not None:
            yield _result(message.LEARNED, name, threads.learned.encode(), self.replica)
        report = self.figures.report(self.rebuilt, lambda: self.worker.state_bytes, threads=threads)
        yield _result(message.MEASURE, name, encoded(report), self.figures.tuples_in)


def _result(kind: str, name: str, payload: bytes, sequence: int = 0) -> Message:
    return Message(0, message.RESULT, kind, name, sequence, payload)


def _ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
