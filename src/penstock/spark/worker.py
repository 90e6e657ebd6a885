"""What runs in a Python worker: one element's share of one micro-batch.

Worker processes live on between tasks, so what is costly to make (kernels, mapped state) is kept here by checkpoint; it
is a cache and may vanish at any time.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from penstock.app import operators as ops
from penstock.app.connectors import DiscardSink, ParquetSink
from penstock.app.graph import Graph
from penstock.element.block import Block, block_of
from penstock.element.dead_letters import DeadLetters
from penstock.element.element import Element
from penstock.element.envelope import seal, unseal
from penstock.element.kernels.dealing import deal
from penstock.element.operators.protocol import RunningOperator
from penstock.element.operators.stored_aggregate import StoredAggregate, can_be_stored
from penstock.element.position import EVERYTHING, source_position
from penstock.element.row_checksum import add_checksums, checksum_of
from penstock.element.running import running_operator
from penstock.element.state.entries import Entries
from penstock.element.state.home import host_directory
from penstock.element.state.logs import Logs
from penstock.element.state.slot_functions import HashSlots
from penstock.element.state.state_before import StateBefore
from penstock.element.state.token import Token
from penstock.plan.pipeline import PipelineElement
from penstock.spark import message
from penstock.spark.checkpoint import BatchPlan, Checkpoint, Fixed
from penstock.spark.message import Message, batch_of, messages_of
from penstock.spark.staged_file import StagedFile


class ElementWorker:
    """One element in this process, kept between tasks."""

    def __init__(self, checkpoint: Checkpoint, fixed: Fixed, number: int) -> None:
        self.checkpoint, self.fixed, self.number = checkpoint, fixed, number
        self.planned: PipelineElement = fixed.pipeline.elements[number]
        self.graph = element_graph(fixed, number)
        self.outputs = fixed.pipeline.outputs_of(self.planned, fixed.graph)
        self.sinks = tuple(s for s in self.graph.sinks)
        self.letters = DeadLetters()
        self.stored: dict[str, StoredAggregate] = {}
        wanted = {name: name for name in (*self.outputs, *(s.name for s in self.sinks))}
        self.element = Element(self.graph, self.letters, wanted, positioned=fixed.positioned, make=self._make)
        self.slot_function = HashSlots(fixed.slots)

    def _make(self, operator: ops.Operator, graph: Graph, letters: DeadLetters) -> RunningOperator:
        schema = graph.producer(operator.inputs[0]).schema
        if isinstance(operator, ops.Aggregate) and can_be_stored(operator, schema):
            stored = StoredAggregate(
                operator, schema, letters, slots=self.fixed.slots if self.planned.scope == "key" else 1,
                host_directory=host_directory(self.fixed.checkpoint_id, operator.name),
                logs=Logs(self.checkpoint.logs(operator.name), self.fixed.durable),
            )  # fmt: skip
            self.stored[operator.name] = stored
            return stored
        return running_operator(operator, graph, letters)

    def open(self, plan: BatchPlan, replica: int, attempt: int) -> int:
        """Takes the replica's slots; gives how many had to be rebuilt."""
        own = plan.configuration.element(self.planned.name)
        slots = np.flatnonzero(np.array(own.route) == replica) if own.route else np.arange(1)
        token, rebuilt = Token(plan.epoch, plan.batch, attempt), 0
        for name, stored in self.stored.items():
            before = StateBefore(self.checkpoint.manifests, plan.previous, name, stored.stored.memory.layout.slots)
            rebuilt += len(stored.stored.open(slots, before.heads(), before.history, token))
        return rebuilt

    def commit(self) -> dict[str, Entries]:
        return {name: stored.stored.commit() for name, stored in self.stored.items()}

    def close(self) -> None:
        for stored in self.stored.values():
            stored.stored.close()


def element_graph(fixed: Fixed, number: int) -> Graph:
    """The operators of an element, with a source for each stream that comes to it from elsewhere."""
    planned, graph = fixed.pipeline.elements[number], fixed.graph
    inputs = tuple(ops.Source(stream, (), graph.producer(stream).schema) for stream in planned.inputs)
    return Graph(planned.name, (*inputs, *(graph.operator(name) for name in planned.operators)))


@lru_cache(maxsize=8)
def _fixed(directory: str, modified_ns: int) -> Fixed:
    return Checkpoint(directory).fixed()


_workers: dict[tuple[str, int], ElementWorker] = {}


def element_worker(directory: str, number: int) -> ElementWorker:
    """The element of a checkpoint in this process."""
    fixed = _fixed(directory, os.stat(os.path.join(directory, "application")).st_mtime_ns)
    key = (fixed.checkpoint_id, number)
    if key not in _workers:
        _workers[key] = ElementWorker(Checkpoint(directory), fixed, number)
        gc.collect()
        gc.freeze()  # Spark's worker collects garbage after each task; what lives on need not be looked at again
    return _workers[key]


class ElementTask:
    """One task: a replica's share of an element in one batch."""

    def __init__(self, directory: str, number: int) -> None:
        context = TaskContext.get()
        assert context is not None
        self.started_s, self.cpu_s = time.perf_counter(), time.process_time()
        self.worker = element_worker(directory, number)
        batch = int(context.getLocalProperty("streaming.sql.batchId") or -1)
        plan = self.worker.checkpoint.plan(batch)
        assert plan is not None, f"batch {batch} has no plan"
        self.plan, self.replica, self.attempt = plan, context.partitionId(), context.taskAttemptId()
        self.rows_in = self.rows_out = self.rebuilt = 0
        self.discarded: dict[str, tuple[int, int]] = {}
        self.files: dict[str, StagedFile] = {}

    def run_first(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The first element: ranges of a trace's offsets become tuples."""
        for batch in batches:
            for name, start, stop in zip(*(batch.column(i).to_pylist() for i in range(3)), strict=True):
                yield from self._step(name, self._source_block(name, start, stop), start)
        yield batch_of(self._end())

    def run_next(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A later element: blocks in the order of their sequence, whatever the order of their delivery."""
        mine: list[Message] = []
        for batch in batches:
            others = []
            for m in messages_of(batch):
                if m.element == self.worker.number:
                    if m.replica != self.replica:
                        raise ValueError(f"a block for replica {m.replica} came to replica {self.replica}")
                    mine.append(m)
                else:
                    others.append(m)
            if others:
                yield batch_of(others)
        mine.sort(key=lambda m: (m.sequence, m.name))
        self.rebuilt = self.worker.open(self.plan, self.replica, self.attempt)
        try:
            for m in mine:
                schema = self.worker.graph.producer(m.name).schema
                yield from self._step(m.name, unseal(m.payload, schema), m.sequence)
            end = self._end()
        finally:
            self.worker.close()
        yield batch_of(end)

    def _source_block(self, name: str, start: int, stop: int) -> Block:
        source = self.worker.graph.operator(name)
        assert isinstance(source, ops.Source)
        assert source.connector is not None
        block = block_of(source.connector.open().batch(start, stop), source.schema)  # type: ignore[union-attr]
        if name in self.worker.fixed.positioned:
            stamps = np.arange(start, stop) / (source.rate_tuples_s or 1.0)
            block.position = source_position(stamps, 0, start)
        return block

    def _step(self, name: str, block: Block, sequence: int) -> Iterator[pa.RecordBatch]:
        self.rows_in += block.rows
        outputs = self.worker.element.step({name: block}, EVERYTHING)
        for stream in self.worker.outputs:
            if stream in outputs:
                yield from self._dealt(stream, outputs[stream], sequence)
        for sink in self.worker.sinks:
            if sink.name in outputs:
                self.rows_out += outputs[sink.name].rows
                yield from self._sunk(sink, outputs[sink.name], sequence)

    def _dealt(self, stream: str, block: Block, sequence: int) -> Iterator[pa.RecordBatch]:
        """A block's tuples on their way to the replicas of the elements that read them."""
        for number, element in enumerate(self.worker.fixed.pipeline.elements):
            if stream not in element.inputs or number <= self.worker.number:
                continue
            own = self.plan.configuration.element(element.name)
            keys = element.keys[element.inputs.index(stream)]
            if own.replicas == 1 or not keys:
                yield batch_of([Message(0, number, message.BLOCK, stream, sequence, seal(block))])
                continue
            slots = self.worker.slot_function.slots_of([block.column(key) for key in keys], block.rows)
            rows, starts = deal(slots, np.array(own.route, np.int32), own.replicas)
            taken = block.take(rows)
            for replica in range(own.replicas):
                if starts[replica + 1] > starts[replica]:
                    part = taken.slice(int(starts[replica]), int(starts[replica + 1]))
                    yield batch_of([Message(replica, number, message.BLOCK, stream, sequence, seal(part))])

    def _sunk(self, sink: ops.Sink, block: Block, sequence: int) -> Iterator[pa.RecordBatch]:
        if isinstance(sink.connector, DiscardSink):
            count, total = self.discarded.get(sink.name, (0, 0))
            self.discarded[sink.name] = (count + block.rows, add_checksums(total, checksum_of(block)))
        elif isinstance(sink.connector, ParquetSink):
            if sink.name not in self.files:
                self.files[sink.name] = StagedFile(sink.connector, sink.schema, self.plan, self.replica, self.attempt)
            self.files[sink.name].write(block)
        else:
            yield batch_of([Message(0, message.RESULT, message.SINK, sink.name, sequence, seal(block))])

    def _end(self) -> list[Message]:
        """What the task has to say beside its tuples; its state is committed by then."""
        entries = self.worker.commit() if self.worker.number else {}
        results = [_result(message.STATE, name, e.tobytes()) for name, e in entries.items()]
        for name, (count, total) in self.discarded.items():
            results.append(_result(message.DISCARD, name, np.array([count, total], np.uint64).tobytes()))
        for name, file in self.files.items():
            results.append(_result(message.FILE, name, file.close().encode()))
        if len(self.worker.letters):
            results.append(_result(message.LETTERS, self.worker.planned.name, _ipc(self.worker.letters.drain())))
        busy_s, cpu_s = time.perf_counter() - self.started_s, time.process_time() - self.cpu_s
        figures = np.array([self.replica, self.rows_in, self.rows_out, busy_s, cpu_s, self.rebuilt])
        return [*results, _result(message.MEASURE, self.worker.planned.name, figures.tobytes())]


def _result(kind: str, name: str, payload: bytes) -> Message:
    return Message(0, message.RESULT, kind, name, 0, payload)


def _ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def run_element(directory: str, number: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The body of one `mapInArrow`."""
    task = ElementTask(directory, number)
    yield from task.run_first(batches) if number == 0 else task.run_next(batches)
