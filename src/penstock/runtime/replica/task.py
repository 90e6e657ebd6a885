"""One task: a replica's share of an element in one micro-batch, messages in and messages out, without Spark."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from penstock.app import operators as ops
from penstock.block.block import Block, concat_blocks
from penstock.block.dead_letters import DeadLetters
from penstock.block.envelope import seal, unseal
from penstock.block.ordering import in_order, joint_steps
from penstock.block.position import EVERYTHING, Frontier
from penstock.connectors.port import BatchId
from penstock.connectors.sinks.sink_port import OpenPart, Part
from penstock.element.threads.element_threads import ElementThreads
from penstock.kernels.dealing import deal
from penstock.kernels.keys.hashing import Slots
from penstock.measure.task.block_bytes import block_bytes
from penstock.measure.task.task_meters import TaskStart, encoded
from penstock.measure.task.triggers import UNKNOWN
from penstock.operators.watermark.source_ticks import SCHEMA as TICK_SCHEMA
from penstock.operators.watermark.source_ticks import TICKS
from penstock.plan.elements.pipeline import PipelineElement
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message
from penstock.runtime.migration.deferred_tuples import together
from penstock.runtime.migration.held_tuples import held_before
from penstock.runtime.migration.waiting_tuples import Waiting
from penstock.runtime.replica.clock_sender import ClockSender
from penstock.runtime.replica.element_by_slot import ElementBySlot
from penstock.runtime.replica.element_worker import ElementWorker
from penstock.runtime.replica.result_spool import ResultSpool
from penstock.runtime.replica.side_input import SideInputSender, read_side_input
from penstock.runtime.replica.source_reader import SourceReader, SourceRow
from penstock.runtime.replica.source_rows import LETTERS_AT_ONCE, partition_of
from penstock.runtime.slots.state_forms import slot_function
from penstock.state.checkpoint.batch_plan import BatchPlan


class ElementTask:
    """What one replica does; its messages for elements further on pass it unread."""

    def __init__(
        self, worker: ElementWorker, plan: BatchPlan, replica: int, attempt: int, start: TaskStart | None = None
    ) -> None:
        self.figures = worker.meters.begin(replica, start or TaskStart())
        self.trigger = (UNKNOWN, 0, 0)  # place of a source and offsets of the block at hand: the first, and how many
        self.worker, self.plan, self.replica, self.attempt = worker, plan, replica, attempt
        self.rebuilt = self.steps = self.dealt = self.resumed = 0
        self.parts: dict[str, OpenPart] = {}  # by sink
        self.threads: ElementThreads | None = None
        name = f"{plan.batch:012d}-{plan.epoch}-{worker.number}-{replica}-{attempt}"
        self.spool = ResultSpool(worker.checkpoint.results, name, plan.task_result_bytes)
        self.clock = ClockSender(worker, plan, replica)
        self.reader = SourceReader(worker, plan, replica, self.clock)

    def run_first(self, rows: Iterable[Mapping[str, object]]) -> Iterator[Message]:
        """The first element: ranges of offsets, splits, and sealed blocks of DataFrames become tuples."""
        yield from self.spool.bounded(self._first(rows))

    def _first(self, rows: Iterable[Mapping[str, object]]) -> Iterator[Message]:
        if self.worker.has_state:
            yield from self._released()
            yield from self._first_with_state(rows)
            return
        self.worker.letters.drain()
        try:
            yield from self._released()
            yield from self._run_sources(rows)
        finally:
            self.worker.close()
        yield from self._end({})

    def _first_with_state(self, rows: Iterable[Mapping[str, object]]) -> Iterator[Message]:
        """Sources with operators that need the whole stream: all rows are here, and go on in their order."""
        others: list[Message] = []
        yield from self._next([], self._mine(rows, others))
        yield from others

    def _mine(self, rows: Iterable[Mapping[str, object]], others: list[Message]) -> Iterator[SourceRow]:
        """The rows to be read here, once somebody asks for them; what goes on to others is put aside."""
        for row in self.reader.own(rows):
            if isinstance(row, Message):
                others.append(row)
            else:
                yield row

    def _run_sources(self, rows: Iterable[Mapping[str, object]]) -> Iterator[Message]:
        self.threads = self.worker.threads(self.plan, self.replica)
        yield from self.clock.of_plan() if self.reader.sends_ticks else ()
        for row in self.reader.own(rows):
            if isinstance(row, Message):
                yield row
            elif self.worker.layout.pipeline.has_intake:
                yield self._envelope(0, 1, row.source, row.start, self._read(row))
                yield from self.reader.ended(row)
            else:
                block = self._read(row)
                yield from self.reader.ticks(row, block)
                yield from self._step({row.source: block}, EVERYTHING, row.start)
        yield from self._rest()
        yield from self.reader.arrivals.messages()
        yield from self._frontier_of_sources()

    def _read(self, row: SourceRow) -> Block:
        """The tuples of a row that may be used; all of them are counted."""
        block = self.worker.meters.reading(row.source, partial(self.reader.block, row))
        self.figures.read(row.source, block.rows, block_bytes(block))
        place = [source.name for source in self.worker.fixed.graph.sources].index(row.source)
        rows = self.plan.configuration.block_rows if row.is_known else block.rows
        self.trigger = (place, row.start, rows)
        if row.is_known:
            self.figures.took_offsets(row.source, row.start, row.start + block.rows)
        arrived = self.reader.arrived(row, block)
        if arrived is not None:
            self.figures.arrivals.add(row.source, row.start, block.rows, arrived)
        return self.reader.usable(row, block)

    def _frontier_of_sources(self) -> Iterator[Message]:
        frontier = self.reader.frontier
        if frontier is not None:
            paced = [number for number in self.worker.layout.paced if number != self.worker.number]
            yield from self._frontier_to(paced, message.pack_frontier(frontier))

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
        yield from self.spool.bounded(self._next(mine))

    def _next(self, mine: list[Message], rows: Iterable[SourceRow] = ()) -> Iterator[Message]:
        self.rebuilt = self.worker.open(self.plan, self.replica, self.attempt)
        try:
            self.threads = self.worker.threads(self.plan, self.replica)
            yield from self._run_intake(mine) if self.worker.is_intake else self._run_steps(mine, rows)
            yield from self._rest()
            entries = self.worker.commit()
        finally:
            self.worker.close()
        yield from self._end(entries)

    def _run_steps(self, mine: list[Message], rows: Iterable[SourceRow] = ()) -> Iterator[Message]:
        positioned: dict[str, list[Block]] = {}
        for stream, (waiting, block) in self._earlier().items():
            if stream in self.worker.layout.positioned:
                positioned[stream] = [block]
                continue
            self.trigger = (self.worker.source_places.get(stream, UNKNOWN), waiting.sequence, waiting.offsets)
            yield from self._step({stream: block}, EVERYTHING, waiting.sequence)
        if self.worker.event_time_operator is not None:
            self.worker.take_side_input(read_side_input(self.worker, self.replica, mine, self._opened))
        ticks = [unseal(m.payload, TICK_SCHEMA) for m in mine if m.kind == message.CLOCK]
        if self.worker.reads:
            yield from self._read_steps(mine, rows, positioned, ticks)
        for m in taken_blocks(mine):
            block = self._opened(m)
            if self.worker.deferred is not None:
                block = self.worker.deferred.ready(m.name, m.sequence, block)
                if not block.rows:
                    continue
            size = self.plan.configuration.block_rows
            self.trigger = (self.worker.source_places.get(m.name, UNKNOWN), m.sequence, size)
            if m.name in self.worker.layout.positioned and m.name not in self.worker.numbered:
                positioned.setdefault(m.name, []).append(block)
            else:
                yield from self._step({m.name: block}, EVERYTHING, m.sequence)
        yield from self._joint_steps(positioned, ticks)
        yield from self._last_steps(mine)

    def _read_steps(
        self, mine: list[Message], rows: Iterable[SourceRow], positioned: dict[str, list[Block]], ticks: list[Block]
    ) -> Iterator[Message]:
        """Steps over the sources that are in the element itself; what has to wait for others is put aside."""
        number, whole = self.worker.number, self.worker.planned.scope == "stream"
        if number == 0 and self.reader.sends_ticks:
            yield from self._own_ticks(self.clock.of_plan(), ticks)
        sent = [row for m in mine if m.kind == message.ROW for row in self.reader.expanded(self.reader.sent(m))]
        for row in sorted([*rows, *sent], key=lambda row: (row.start, row.source)):
            block = self._read(row)
            yield from self._own_ticks(self.reader.ticks(row, block), ticks)
            if whole and row.source in self.worker.layout.positioned:
                positioned.setdefault(row.source, []).append(block)
            else:
                yield from self._step({row.source: block}, EVERYTHING, row.start)
        yield from self.reader.arrivals.messages()
        if number == 0:
            yield from self._frontier_of_sources()

    def _own_ticks(self, messages: Iterable[Message], ticks: list[Block]) -> Iterator[Message]:
        """Keeps what is for this element, and sends on what is for later ones."""
        for m in messages:
            if m.element == self.worker.number:
                ticks.append(unseal(m.payload, TICK_SCHEMA))
            elif m.element > self.worker.number:
                yield m

    def _joint_steps(self, positioned: dict[str, list[Block]], ticks: list[Block]) -> Iterator[Message]:
        self.trigger = (UNKNOWN, 0, 0)
        if ticks:
            positioned[TICKS] = ticks
        ordered = {name: in_order(blocks) for name, blocks in positioned.items()}
        for blocks, frontier in joint_steps(ordered, self.plan.configuration.block_rows):
            yield from self._step(blocks, frontier, self.steps)

    def _last_steps(self, mine: list[Message]) -> Iterator[Message]:
        """Steps in which time passes, and no tuples come."""
        frontiers = [message.unpack_frontier(m.payload) for m in mine if m.kind == message.FRONTIER]
        if self.worker.number == 0 and self.reader.frontier is not None:
            frontiers.append(self.reader.frontier)
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
        raw: dict[tuple[str, int], list[Block]] = {}
        intake = self.worker.operators
        assert isinstance(intake, ElementBySlot)
        intake.end_sources(m.name for m in mine if m.kind == message.ENDED)
        own = intake.intake
        own.note_idle((name for name, parts in self.plan.idle.items() if self._is_all(name, parts)), self.plan.idle)
        if self.plan.ends:
            own.note_end()
        for m in taken_blocks(mine):
            raw.setdefault((m.name, partition_of(self.worker.source(m.name), m.sequence)), []).append(self._opened(m))
        for (name, partition), blocks in raw.items():
            own.add(name, partition, concat_blocks(blocks))
        yield from self._step({}, EVERYTHING, 0)
        clock = ClockSender(self.worker, self.plan, self.replica)
        for number in self.worker.layout.watermarks:
            if number != self.worker.number:
                yield from clock.sent(number, own.ticks)
        frontier = intake.frontier
        if frontier is not None:
            paced = [number for number in self.worker.layout.paced if number != self.worker.number]
            yield from self._frontier_to(paced, message.pack_frontier(frontier))

    def _is_all(self, source: str, partitions: tuple[int, ...]) -> bool:
        """Whether partitions are all that a source was seen to have."""
        return len(partitions) >= self.plan.partitions.get(source, 1)

    def _step(self, blocks: Mapping[str, Block], frontier: Frontier, sequence: int) -> Iterator[Message]:
        is_numbered = self.worker.keeps_sequence or (bool(blocks) and self.worker.numbered.issuperset(blocks))
        place = (sequence if is_numbered else self.steps, self.trigger)
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
        if len(self.worker.letters) >= LETTERS_AT_ONCE:
            yield from self._letters()

    def _sent(self, stream: str, block: Block, sequence: int) -> Iterator[Message]:
        """A block's tuples on their way to the replicas of the elements that read them."""
        for number, element in enumerate(self.worker.layout.pipeline.elements):
            if stream in element.inputs and number > self.worker.number:
                is_heard = bool(self.worker.marks.heard[stream])
                rest = block if is_heard and element.scope != "key" else block.unmarked()
                if element.name in self.plan.held:
                    rest, held = self._split(element, stream, rest)
                    yield from self._held(element.name, stream, sequence, held)
                elif number in self.worker.layout.event_time_elements and number not in self.worker.layout.watermarks:
                    sender = SideInputSender(
                        self.worker, number, self.plan.configuration.element(element.name), self.figures
                    )
                    yield from sender.ticks(stream, block)
                    rest, messages = sender.split(stream, rest, sequence)
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
        if sink.connector.promise.staged_by == "replicas":
            if sink.name not in self.parts:
                self.parts[sink.name] = sink.connector.open(self._part(sink))
            self.worker.meters.delivery(
                sink.name, block.rows, partial(sink.connector.write, self.parts[sink.name], block)
            )
        else:
            payload = self.worker.meters.delivery(sink.name, block.rows, partial(seal, block))
            yield Message(0, message.RESULT, message.SINK, sink.name, sequence, payload)

    def _part(self, sink: ops.Sink) -> Part:
        fixed, plan = self.worker.fixed, self.plan
        batch = BatchId(plan.batch, fixed.checkpoint_id)
        return Part(
            sink.name, sink.schema, batch, plan.epoch, self.replica, self.attempt, self.worker.checkpoint.staged,
            fixed.durable,
        )  # fmt: skip

    def _end(self, entries: Mapping[str, np.ndarray]) -> Iterator[Message]:
        """What the task has to say beside its tuples; its state is committed by then."""
        for name, own in entries.items():
            yield _result(message.STATE, name, own.tobytes())
        for name, opened in self.parts.items():
            yield _result(message.PART, name, opened.close().encode())
        put_off = 0 if self.worker.deferred is None else self.worker.deferred.tuples
        if put_off or self.resumed:
            counts = np.array([put_off, self.resumed], np.int64)
            yield _result(message.DEFERRED, self.worker.planned.name, counts.tobytes())
        yield from self._letters()
        threads = None if self.threads is None else self.threads.left
        name = self.worker.planned.name
        if threads is not None and threads.learned is not None:
            yield _result(message.LEARNED, name, threads.learned.encode(), self.replica)
        for text in self.worker.warnings:
            yield _result(message.WARNING, name, text.encode())
        report = self.figures.report(
            self.rebuilt, lambda: self.worker.state_bytes, threads=threads, slot_cpu_ns=self.worker.take_slot_cpu_ns()
        )
        yield _result(message.MEASURE, name, encoded(report), self.figures.read_tuples)

    def _letters(self) -> Iterator[Message]:
        """The dead letters so far; a stream of them must not fill the memory of a worker."""
        letters: DeadLetters = self.worker.letters
        if len(letters):
            yield _result(message.LETTERS, self.worker.planned.name, _ipc(letters.drain()))


def taken_blocks(messages: list[Message]) -> Iterator[Message]:
    """The messages with tuples, taken out of a list one after the other.

    A payload's memory is given back once its tuples are through: at the end of the task that would fall into the next
    one of the process, and count as CPU of that one's element.
    """
    blocks = deque(m for m in messages if m.kind == message.BLOCK)
    messages[:] = [m for m in messages if m.kind != message.BLOCK]
    while blocks:
        yield blocks.popleft()


def _result(kind: str, name: str, payload: bytes, sequence: int = 0) -> Message:
    return Message(0, message.RESULT, kind, name, sequence, payload)


def _ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
