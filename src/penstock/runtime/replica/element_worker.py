"""One element in a worker process, kept between tasks."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.block.block import Block, empty_block
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import Frontier
from penstock.connectors.offsets import offset_source
from penstock.element.element import Element
from penstock.element.intake_element import IntakeElement
from penstock.element.threads.element_threads import ElementThreads
from penstock.element.threads.lanes import SlotLanes
from penstock.element.threads.step_letters import StepLetters
from penstock.element.threads.threaded_element import MAX_THREADS
from penstock.host.directories import host_directory
from penstock.measure.task.task_meters import ElementMeters
from penstock.operators.event_time.event_time_aggregate import EventTimeAggregate
from penstock.operators.event_time.event_time_join import EventTimeJoin
from penstock.operators.event_time.keyed_event_time import KeyedEventTimeOperator, SideInput
from penstock.operators.event_time.partial_aggregates import Partials
from penstock.operators.factory import make_operator
from penstock.operators.protocol import OperatorRuntime
from penstock.operators.windows.stored_aggregate import StoredAggregate, can_be_stored
from penstock.plan.elements.layout import Layout, keeps_sequence, layout_of
from penstock.plan.elements.pipeline import INTAKE, PipelineElement
from penstock.plan.elements.position_depth import depth_by_stream
from penstock.plan.elements.source_offsets import source_places
from penstock.runtime.migration.deferred_tuples import DeferredTuples
from penstock.runtime.migration.waiting_tuples import deferred_name, waiting_store
from penstock.runtime.replica.element_by_slot import AnyElement, Before, ElementBySlot
from penstock.runtime.replica.event_time_element import EventTimeElement
from penstock.runtime.replica.task_cores import cores_of_task
from penstock.runtime.slots.state_slots import can_defer, needs_element_by_slot, slot_function, state_slots
from penstock.state.checkpoint.checkpoint import BatchPlan, Checkpoint, Dumps, Fixed
from penstock.state.checkpoint.entries import Entries
from penstock.state.checkpoint.logs import Logs
from penstock.state.checkpoint.state_before import StateBefore
from penstock.state.extents import Integers
from penstock.state.memory.locks import close_removed
from penstock.state.rows.blob_store import BlobStore
from penstock.state.slots.hashing import Slots
from penstock.state.token import Token

_INTAKE_ROWS = 32_768
# What a task of a deferring element reads at most to bring slots up to date, before it puts off their tuples instead.
REBUILD_AT_ONCE_BYTES = 8 << 20


class ElementWorker:
    """The operators of one element, their state, and what it must know about the others."""

    def __init__(self, checkpoint: Checkpoint, fixed: Fixed, layout: Layout, number: int, dumps: Dumps) -> None:
        self.checkpoint, self.fixed, self.layout, self.number = checkpoint, fixed, layout, number
        self._dumps = dumps
        pipeline = layout.pipeline
        self.planned: PipelineElement = pipeline.elements[number]
        self.graph = element_graph(fixed.graph, self.planned)
        self.outputs = pipeline.outputs_of(self.planned, fixed.graph)
        self.sinks = tuple(self.graph.sinks)
        self.letters = DeadLetters()
        self._step_letters = StepLetters(self.letters, {})
        self.keeps_sequence = keeps_sequence(fixed.graph, pipeline, self.planned)
        self.is_intake = pipeline.has_intake and number == 1
        self.event_time_operator = (
            fixed.graph.operator(self.planned.operators[0]) if number in layout.event_time_elements else None
        )
        self.is_by_slot = self.event_time_operator is None and needs_element_by_slot(fixed.graph, self.planned)
        self.stored: dict[str, StoredAggregate] = {}
        self.meters = ElementMeters()
        self.source_places = source_places(fixed.graph, pipeline, self.planned)
        self._wanted = {name: name for name in (*self.outputs, *(s.name for s in self.sinks))}
        self._depths = depth_by_stream(
            fixed.graph, {pipeline.elements[n].operators[0] for n in layout.event_time_elements}
        )
        self._slots = slot_function(fixed, self.planned).slots if self.is_by_slot or self.event_time_operator else 1
        self._partials: dict[str, Partials] = {}  # by element
        self._head: KeyedEventTimeOperator | None = None  # the event-time operator that was made last
        self.deferred = self._deferred() if can_defer(fixed.graph, layout, self.planned) else None
        self.operators = self._made_operators()
        self._threads: ElementThreads | None = None  # once there are any
        self._lanes: SlotLanes | None = None

    def _made_operators(self) -> ElementBySlot | EventTimeElement:
        if self.event_time_operator is not None:
            store = BlobStore(self._slots, self._logs(self.event_time_operator.name))  # plain arrays, pickled as such
            return EventTimeElement(self._event_time_element, self.event_time_operator.name, store)
        return ElementBySlot(self._element, self._blobs, self._slots, self._slots_of if self.is_by_slot else None)

    @property
    def state_bytes(self) -> dict[str, int]:
        """Memory of each operator's state in this process."""
        return self.operators.state_bytes

    def open(self, plan: BatchPlan, replica: int, attempt: int) -> int:
        """Takes the replica's slots; gives how many had to be rebuilt."""
        self.letters.drain()
        self._end_work()
        own = plan.configuration.element(self.planned.name)
        routed = np.flatnonzero(np.array(own.route) == replica) if own.route else None
        token = Token(plan.epoch, plan.batch, attempt)

        def before(name: str, count: int) -> StateBefore:
            return StateBefore(self.checkpoint.manifests, plan.previous, name, count)

        by_slot = self.is_by_slot or self.event_time_operator is not None
        held = routed if by_slot and routed is not None else np.arange(self._slots)
        rebuilt = self.operators.open(held, before, token)
        ready = routed if self.deferred is None or routed is None else self._defer(plan, routed, before, token)
        for name, stored in self.stored.items():
            count = stored.stored.memory.layout.slots
            own_before = before(name, count)
            slots = np.arange(count) if ready is None else ready
            rebuilt += len(stored.stored.open(slots, own_before.heads(), own_before.history, token))
        return rebuilt

    def copy(self, slots: Integers, batch: int, epoch: int) -> Integers:
        """Brings slots on this host, for tasks to come, to the state after a batch; gives those that are so now."""
        for name, stored in self.stored.items():
            count = stored.stored.memory.layout.slots  # 1 for an operator without a key, whatever its element has
            before = StateBefore(self.checkpoint.manifests, batch, name, count)
            copied = stored.stored.copy(slots[slots < count], before, epoch)
            slots = slots[(slots >= count) | np.isin(slots, copied)]
        return slots

    def release(self, slots: Integers, batch: int, epoch: int) -> Integers:
        """Gives the memory back that slots have on this host, unless they are newer; gives those whose is."""
        for stored in self.stored.values():
            count = stored.stored.memory.layout.slots
            released = stored.stored.release(slots[slots < count], epoch, batch)
            slots = slots[(slots >= count) | np.isin(slots, released)]
        return slots

    def _defer(self, plan: BatchPlan, routed: Integers, before: Before, token: Token) -> Integers:
        """Those of a task's slots that it may open, since all of their state is there or nearly so.

        Of slots whose tuples the splitter holds none come, and their state may still be on its way.
        """
        assert self.deferred is not None
        ready = np.setdiff1d(routed, np.array(plan.held.get(self.planned.name, ()), np.int64))
        if self.planned.name in plan.deferring:
            for name, stored in self.stored.items():
                own = before(name, stored.stored.memory.layout.slots)
                ready = np.intersect1d(ready, stored.stored.ready(ready, own, REBUILD_AT_ONCE_BYTES))
        name = deferred_name(self.planned.name)
        own = before(name, slot_function(self.fixed, self.planned).slots)
        self.deferred.open(routed, ready, own, token, plan.configuration.block_rows)
        return ready

    def take_side_input(self, given: SideInput) -> None:
        """What an event-time operator gets beside its tuples."""
        if isinstance(self.operators, EventTimeElement):
            self.operators.take_side_input(given)

    def partials(self, element: PipelineElement) -> Partials:
        """How blocks become partial aggregates for a split element."""
        if element.name not in self._partials:
            operator = self.fixed.graph.operator(element.operators[0])
            assert isinstance(operator, ops.Aggregate)
            stream = operator.inputs[0]
            schema, ordered = self.fixed.graph.producer(stream).schema, operator.name in self.layout.positioned
            self._partials[element.name] = Partials(operator, schema, depth=self._depths[stream], ordered=ordered)
        return self._partials[element.name]

    def step(self, blocks: Mapping[str, Block], frontier: Frontier) -> dict[str, Block]:
        return self.operators.step(blocks, frontier)

    def threads(self, plan: BatchPlan, replica: int) -> ElementThreads | None:
        """The threads of a task whose slots are open; None where its own thread does it all."""
        self._end_work()
        own = plan.configuration.element(self.planned.name)
        if own.threads == 1:
            self.end_threads()
            return None
        if self._threads is None:
            self._threads = ElementThreads(self.graph, self.fixed.graph, self._step_letters)
        learned = plan.learned.get(own.name, {}).get(replica)
        cores = cores_of_task(plan, own.name, replica)
        self._threads.begin(self._staged(), own.threads, lambda: cores, learned)
        return self._threads

    def _staged(self) -> Element | SlotLanes:
        """What threads work on: the element itself, or the elements of its slots."""
        if not self.is_by_slot:
            element = self.operators.whole
            return element.element if isinstance(element, IntakeElement) else element
        if self._lanes is None:
            operators = self.operators
            assert isinstance(operators, ElementBySlot)
            schemas = {name: self.fixed.graph.producer(name).schema for name in (*self.planned.inputs, *self._wanted)}
            empty = {name: empty_block(schema) for name, schema in schemas.items()}
            self._lanes = SlotLanes(
                self.fixed.graph.operator(self.planned.name),
                {name: empty[name] for name in self.planned.inputs}, {name: empty[name] for name in self._wanted},
                operators.by_slot, operators.step_slot, min(self._slots, MAX_THREADS),
            )  # fmt: skip
        return self._lanes

    def _end_work(self) -> None:
        """Ends threads that a task left at work when it was given up."""
        if self._threads is not None and self._threads.is_at_work:
            self.end_threads()

    def end_threads(self) -> None:
        if self._threads is not None:
            self._threads.close()
            self._threads = None

    def commit(self) -> dict[str, Entries]:
        entries = {name: stored.stored.commit() for name, stored in self.stored.items()}
        if self.deferred is not None:
            own = self.deferred.commit()
            entries |= {deferred_name(self.planned.name): own} if len(own) else {}
        return entries | self.operators.commit()

    def close(self) -> None:
        """Ends a task, whole or half-way; no thread is at its state any more when its slots are let go."""
        self._end_work()
        for stored in self.stored.values():
            stored.stored.close()

    def _plain_element(self) -> Element:
        positioned, depths = self.layout.positioned, self._depths
        letters = self._step_letters
        return Element(self.graph, letters, self._wanted, positioned=positioned, make=self._make, depths=depths)

    def _event_time_element(self) -> tuple[Element, KeyedEventTimeOperator]:
        element = self._plain_element()
        element.stages[0].always = True  # it acts on ticks, too
        assert self._head is not None
        return element, self._head

    def _element(self) -> AnyElement:
        element, positioned = self._plain_element(), self.layout.positioned
        if self.is_intake:
            intake = IntakeElement(INTAKE, element, self.fixed.graph, positioned, self.letters, _INTAKE_ROWS)
            intake.end(s.name for s in self.fixed.graph.sources if _is_empty(s))
            return intake
        return element

    def _make(self, operator: ops.Operator, graph: Graph, letters: DeadLetters) -> OperatorRuntime:
        return self.meters.metered(operator.name, self._made(operator, graph, letters))

    def _made(self, operator: ops.Operator, graph: Graph, letters: DeadLetters) -> OperatorRuntime:
        schema = graph.producer(operator.inputs[0]).schema
        if self.event_time_operator is not None and operator.name == self.event_time_operator.name:
            self._head = self._made_event_time_operator(operator, letters)
            return self._head
        stored = self.number > 0 and not self.is_by_slot and isinstance(operator, ops.Aggregate)
        if not stored or not can_be_stored(operator, schema):  # type: ignore[arg-type]
            return make_operator(operator, self.fixed.graph, letters, self.layout.positioned)
        if operator.name not in self.stored:
            self.stored[operator.name] = StoredAggregate(
                operator, schema, letters,  # type: ignore[arg-type]
                slots=state_slots(self.fixed, self.layout.pipeline, operator.name),
                host_directory=host_directory(self.fixed.checkpoint_id, operator.name),
                logs=self._logs(operator.name),
            )  # fmt: skip
        return self.stored[operator.name]

    def _deferred(self) -> DeferredTuples:
        slots, name = slot_function(self.fixed, self.planned).slots, deferred_name(self.planned.name)
        return DeferredTuples(waiting_store(self.checkpoint, self.fixed, name, slots), self._slots_of)

    def _made_event_time_operator(self, operator: ops.Operator, letters: DeadLetters) -> KeyedEventTimeOperator:
        slots, positioned = slot_function(self.fixed, self.planned), self.layout.positioned
        schemas = [self.fixed.graph.producer(stream).schema for stream in operator.inputs]
        ordered = operator.name in positioned
        if isinstance(operator, ops.Join):
            return EventTimeJoin(operator, (schemas[0], schemas[1]), letters, slots, positioned=ordered)
        assert isinstance(operator, ops.Aggregate)
        depth = self._depths[operator.inputs[0]]
        return EventTimeAggregate(operator, schemas[0], letters, slots, depth=depth, ordered=ordered)

    def _blobs(self, operator: str) -> BlobStore:
        return BlobStore(
            self._slots, self._logs(operator), lambda value: self._dumps(value, f"the state of operator '{operator}'")
        )

    def _logs(self, operator: str) -> Logs:
        return Logs(self.checkpoint.logs(operator), self.fixed.durable)

    def _slots_of(self, stream: str, block: Block) -> Slots:
        keys = self.planned.keys[self.planned.inputs.index(stream)]
        return slot_function(self.fixed, self.planned).slots_of([block.column(key) for key in keys], block.rows)


def _is_empty(source: ops.Source) -> bool:
    opened = offset_source(source, 0)
    return opened is not None and opened.total == 0


def element_graph(graph: Graph, planned: PipelineElement) -> Graph:
    """The operators of an element, with a source for each stream that comes to it from elsewhere."""
    inputs = tuple(ops.Source(stream, (), graph.producer(stream).schema) for stream in planned.inputs)
    return Graph(planned.name, (*inputs, *(graph.operator(name) for name in planned.operators)))


@lru_cache(maxsize=8)
def _fixed(directory: str, epoch: int) -> Fixed:
    return Checkpoint(directory).fixed()


_workers: dict[tuple[str, int, tuple[str, ...], int], ElementWorker] = {}


def element_worker(
    directory: str, epoch: int, unfused: tuple[str, ...], number: int, *, dumps: Dumps, freezes: bool = False
) -> ElementWorker:
    """The element of a checkpoint in this process; what was made for it is kept, as a cache that may vanish.

    Each start of a driver has an epoch of its own and may bring other functions, so nothing made for another is used.

    `dumps` pickles the state of user operators.  `freezes`: Spark's worker collects garbage after each task, and what
    lives on need not be looked at again.
    """
    fixed = _fixed(directory, epoch)
    key = (fixed.checkpoint_id, epoch, unfused, number)
    if key not in _workers:
        for old in [k for k in _workers if k[0] == key[0] and k[1:3] != key[1:3]]:
            _workers.pop(old).end_threads()  # its operators would keep old functions, or state that others go on with
        _workers[key] = ElementWorker(Checkpoint(directory), fixed, layout_of(fixed.graph, unfused), number, dumps)
        close_removed()
        if freezes:
            gc.unfreeze()  # what was made for another fusion must go
            gc.collect()
            gc.freeze()
    return _workers[key]
