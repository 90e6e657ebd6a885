"""One element in a worker process, kept between tasks."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.block.block import Block, empty_block
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import Frontier
from penstock.connectors.offsets import offset_source
from penstock.element.element import Element, MakeOperator
from penstock.element.intake_element import IntakeElement
from penstock.element.threads.element_threads import ElementThreads
from penstock.element.threads.lanes import SlotLanes
from penstock.element.threads.step_letters import StepLetters
from penstock.element.threads.threaded_element import MAX_THREADS
from penstock.kernels.keys.hashing import Slots
from penstock.measure.task.task_meters import ElementMeters
from penstock.operators.event_time.event_time_aggregate import EventTimeAggregate
from penstock.operators.event_time.event_time_join import EventTimeJoin
from penstock.operators.event_time.keyed_event_time import KeyedEventTimeOperator, SideInput
from penstock.operators.event_time.partial_aggregates import Partials
from penstock.operators.event_time.punctuated_aggregate import PunctuatedAggregate
from penstock.operators.factory import make_operator
from penstock.operators.protocol import OperatorRuntime
from penstock.operators.watermark.keyed_watermark import KeyedWatermarkedAggregate, KeyedWatermarkedJoin
from penstock.operators.watermark.source_ticks import SourceTicks, source_ticks
from penstock.operators.windows.stored_aggregate import StoredAggregate
from penstock.plan.elements.keys import partitioning_of
from penstock.plan.elements.layout import Layout, keeps_order, keeps_sequence, layout_of, numbered_streams
from penstock.plan.elements.pipeline import INTAKE, PipelineElement
from penstock.plan.elements.position_depth import depth_by_stream
from penstock.plan.elements.punctuated_streams import fires_at_punctuations, punctuated, stages
from penstock.plan.elements.source_offsets import source_places
from penstock.plan.elements.source_partitions import watched_sources
from penstock.plan.elements.watermarks import Watermark
from penstock.plan.fusion.groups import Fused, fused_of
from penstock.runtime.migration.deferred_tuples import DeferredTuples
from penstock.runtime.migration.waiting_tuples import deferred_name, waiting_store
from penstock.runtime.replica.element_by_slot import AnyElement, Before, ElementBySlot
from penstock.runtime.replica.event_time_element import EventTimeElement
from penstock.runtime.replica.operator_by_slot import OperatorBySlot
from penstock.runtime.replica.task_cores import cores_of_task
from penstock.runtime.slots.state_forms import StateForm, slot_function, state_form
from penstock.runtime.slots.state_slots import can_defer
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint, Dumps, Fixed
from penstock.state.checkpoint.entries import Entries
from penstock.state.checkpoint.logs import Logs
from penstock.state.checkpoint.place import APPLICATION
from penstock.state.checkpoint.state_before import StateBefore
from penstock.state.extents import Integers
from penstock.state.memory.garbage import GARBAGE
from penstock.state.memory.host_directory import host_directory
from penstock.state.memory.locks import close_removed
from penstock.state.rows.blob_store import BlobStore
from penstock.state.slots.slot_functions import SlotFunction
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
        self.marks = punctuated(fixed.graph)
        self.letters = DeadLetters()
        self._step_letters = StepLetters(self.letters, {})
        self.keeps_sequence = keeps_sequence(fixed.graph, pipeline, self.planned) or self._passes_numbers()
        is_asked_for = pipeline is not layout.state_pipeline
        self.numbered = numbered_streams(fixed.graph, pipeline, self.planned) if is_asked_for else frozenset[str]()
        self.is_intake = pipeline.has_intake and number == 1
        self.event_time_operator = (
            fixed.graph.operator(self.planned.operators[0]) if number in layout.event_time_elements else None
        )
        self.is_by_slot = self.event_time_operator is None and self._has_objects_alone()
        self.stored: dict[str, StoredAggregate] = {}
        self.by_slot: dict[str, OperatorBySlot] = {}  # operators by slot in an element that is not
        self.meters = ElementMeters()
        self.watched_sources = watched_sources(fixed.graph)
        self.source_places = source_places(fixed.graph, pipeline, self.planned)
        self._wanted = {name: name for name in (*self.outputs, *(s.name for s in self.sinks))}
        self._depths = depth_by_stream(fixed.graph, layout.event_time_operators)
        self._slots = slot_function(fixed, self.planned).slots if self.is_by_slot or self.event_time_operator else 1
        self._partials: dict[str, Partials] = {}  # by element
        self._source_ticks: dict[int, dict[str, SourceTicks]] = {}  # by element
        self._head: KeyedEventTimeOperator | None = None  # the event-time operator that was made last
        self.deferred = self._deferred() if can_defer(fixed.graph, layout, self.planned) else None
        self.operators = self._made_operators()
        self._threads: ElementThreads | None = None  # once there are any
        self._lanes: SlotLanes | None = None

    @property
    def has_state(self) -> bool:
        """Whether a task must take slots: all elements behind an exchange may have state, a first one seldom has."""
        return self.number > 0 or self.planned.scope == "stream"

    def source(self, name: str) -> ops.Source:
        """A source of the application."""
        found = self.fixed.graph.operator(name)
        assert isinstance(found, ops.Source)
        return found

    @property
    def reads(self) -> frozenset[str]:
        """The sources whose rows it reads itself."""
        return frozenset(source.name for source in self.fixed.graph.sources if source.name in self.planned.operators)

    def _passes_numbers(self) -> bool:
        """Whether it passes on the numbers of one replica that sent to it, in a fusion that somebody asked for."""
        pipeline = self.layout.pipeline
        is_asked_for = pipeline is not self.layout.state_pipeline
        return is_asked_for and self.planned.scope == "none" and keeps_order(self.fixed.graph, pipeline, self.planned)

    def _has_objects_alone(self) -> bool:
        """Whether all its state is an object for each slot, so that each slot has operators of its own."""
        if self.planned.scope != "key":
            return False
        kinds = {state_form(self.fixed, self.layout, name).kind for name in self.planned.operators}
        return "objects" in kinds and not kinds & {"rows", "clock"}

    def _made_operators(self) -> ElementBySlot | EventTimeElement:
        if self.event_time_operator is not None:
            store = BlobStore(self._slots, self._logs(self.event_time_operator.name))  # plain arrays, pickled as such
            return EventTimeElement(self._event_time_element, self.event_time_operator.name, store)
        return ElementBySlot(self._element, self._blobs, self._slots, self._slots_of if self.is_by_slot else None)

    def take_slot_cpu_ns(self) -> Integers | None:
        """CPU by slot since the last time, where slots run apart."""
        return self.operators.take_slot_cpu_ns() if isinstance(self.operators, ElementBySlot) else None

    @property
    def state_bytes(self) -> dict[str, int]:
        """Memory of each operator's state in this process."""
        return {**self.operators.state_bytes, **{name: own.state_bytes for name, own in self.by_slot.items()}}

    @property
    def warnings(self) -> set[str]:
        """What the user should know about this host."""
        return {text for stored in self.stored.values() if (text := stored.stored.memory.place.warning)}

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
        for own_by_slot in self.by_slot.values():
            rebuilt += own_by_slot.open(np.arange(own_by_slot.slots) if routed is None else routed, before, token)
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
        for by_slot in self.by_slot.values():
            entries |= by_slot.commit()
        return entries | self.operators.commit()

    def close(self) -> None:
        """Ends a task, whole or half-way; no thread is at its state any more when its slots are let go."""
        self._end_work()
        for stored in self.stored.values():
            stored.stored.close()

    def _plain_element(self) -> Element:
        positioned, depths = self.layout.positioned, self._depths
        letters = self._step_letters
        return Element(
            self.graph, letters, self._wanted, positioned=positioned, make=self._make, depths=depths,
            ticked=self.layout.watermarks.get(self.number, {}),
        )  # fmt: skip

    def _event_time_element(self) -> tuple[Element, KeyedEventTimeOperator]:
        element = self._plain_element()
        element.stages[0].always = True  # it acts on ticks, too
        assert self._head is not None
        return element, self._head

    def _element(self) -> AnyElement:
        element, positioned = self._plain_element(), self.layout.positioned
        if self.is_intake:
            intake = IntakeElement(INTAKE, element, self.fixed.graph, positioned, self.letters, _INTAKE_ROWS)
            intake.end(s.name for s in self.fixed.graph.sources if is_empty(s))
            return intake
        return element

    def _make(self, operator: ops.Operator, graph: Graph, letters: DeadLetters) -> OperatorRuntime:
        return self.meters.metered(operator.name, self._made(operator, graph, letters), len(operator.inputs))

    def _made(self, operator: ops.Operator, graph: Graph, letters: DeadLetters) -> OperatorRuntime:
        schema = graph.producer(operator.inputs[0]).schema
        if self.event_time_operator is not None and operator.name == self.event_time_operator.name:
            self._head = self._made_event_time_operator(operator, letters, slot_function(self.fixed, self.planned))
            return self._head
        form = state_form(self.fixed, self.layout, operator.name)
        if form.kind in ("objects", "clock") and not self.is_by_slot:
            if operator.name not in self.by_slot:
                self.by_slot[operator.name] = self._made_by_slot(operator, form)
            return self.by_slot[operator.name]
        if form.kind != "rows" or self.is_by_slot:
            return make_operator(operator, self.fixed.graph, letters, self.layout.positioned)
        if operator.name not in self.stored:
            self.stored[operator.name] = StoredAggregate(
                operator, schema, letters, slots=form.slots,  # type: ignore[arg-type]
                host_directory=host_directory(self.fixed.checkpoint_id, operator.name, self.fixed.state_directory),
                logs=self._logs(operator.name),
            )  # fmt: skip
        return self.stored[operator.name]

    def _made_by_slot(self, operator: ops.Operator, form: StateForm) -> OperatorBySlot:
        """An operator by slot in an element that is not: as if it were an element of its own, called as a function."""
        graph, slots = element_graph(self.fixed.graph, _alone(operator)), form.slots
        ticked = [name for name in self.layout.watermarks.get(self.number, {}) if name == operator.name]

        def element(make: MakeOperator) -> Element:
            return Element(
                graph, self._step_letters, {name: name for name in operator.outputs},
                positioned=self.layout.positioned, make=make, depths=self._depths, ticked=ticked,
            )  # fmt: skip

        def clocked() -> tuple[Element, KeyedEventTimeOperator]:
            made: list[KeyedEventTimeOperator] = []

            def make(own: ops.Operator, graph: Graph, letters: DeadLetters) -> KeyedEventTimeOperator:
                made.append(self._made_event_time_operator(own, letters, slots))
                return made[0]

            return element(make), made[0]

        def slots_of(stream: str, block: Block) -> Slots:
            keys = partitioning_of(operator).keys[operator.inputs.index(stream)]
            return slots.slots_of([block.column(key) for key in keys], block.rows)

        def plain(own: ops.Operator, graph: Graph, letters: DeadLetters) -> OperatorRuntime:
            return make_operator(own, self.fixed.graph, letters, self.layout.positioned)

        if form.kind == "clock":
            store = BlobStore(slots.slots, self._logs(operator.name))  # plain arrays, pickled as such
            return OperatorBySlot(operator, EventTimeElement(clocked, operator.name, store), slots.slots)
        own = ElementBySlot(
            lambda: element(plain), lambda name: self._blobs(name, slots.slots), slots.slots, slots_of
        )  # fmt: skip
        return OperatorBySlot(operator, own, slots.slots)

    def _deferred(self) -> DeferredTuples:
        slots, name = slot_function(self.fixed, self.planned).slots, deferred_name(self.planned.name)
        return DeferredTuples(waiting_store(self.checkpoint, self.fixed, name, slots), self._slots_of)

    def _made_event_time_operator(
        self, operator: ops.Operator, letters: DeadLetters, slots: SlotFunction
    ) -> KeyedEventTimeOperator:
        positioned = self.layout.positioned
        schemas = [self.fixed.graph.producer(stream).schema for stream in operator.inputs]
        ordered = operator.name in positioned
        watermark = self.layout.watermarks.get(self.number, {}).get(operator.name)
        if watermark is not None:
            return self._made_watermarked_operator(operator, letters, watermark, slots)
        if isinstance(operator, ops.Join):
            return EventTimeJoin(operator, (schemas[0], schemas[1]), letters, slots, positioned=ordered)
        assert isinstance(operator, ops.Aggregate)
        depth = self._depths[operator.inputs[0]]
        if fires_at_punctuations(operator):
            passes, stage = bool(self.marks.heard[operator.name]), stages(self.fixed.graph)[operator.inputs[0]]
            return PunctuatedAggregate(
                operator, schemas[0], letters, slots, depth=depth, ordered=ordered, stage=stage, passes_marks=passes
            )  # fmt: skip
        return EventTimeAggregate(operator, schemas[0], letters, slots, depth=depth, ordered=ordered)

    def _made_watermarked_operator(
        self, operator: ops.Operator, letters: DeadLetters, watermark: Watermark, slots: SlotFunction
    ) -> KeyedEventTimeOperator:
        ordered = operator.name in self.layout.positioned
        schemas = [self.fixed.graph.producer(stream).schema for stream in operator.inputs]
        depth = max(self._depths[stream] for stream in operator.inputs)
        if isinstance(operator, ops.Join):
            both = schemas[0], schemas[1]
            return KeyedWatermarkedJoin(operator, both, letters, watermark, slots, depth=depth, positioned=ordered)
        assert isinstance(operator, ops.Aggregate)
        return KeyedWatermarkedAggregate(operator, schemas[0], letters, watermark, slots, depth=depth, ordered=ordered)

    def source_ticks(self, number: int) -> dict[str, SourceTicks]:
        """Makes the ticks of sources for the operators of an element."""
        if number not in self._source_ticks:
            sources = self.fixed.graph.sources
            self._source_ticks[number] = source_ticks(sources, self.layout.watermarks[number])
        return self._source_ticks[number]

    def _blobs(self, operator: str, slots: int | None = None) -> BlobStore:
        return BlobStore(
            slots or self._slots,
            self._logs(operator),
            lambda value: self._dumps(value, f"the state of operator '{operator}'"),
        )

    def _logs(self, operator: str) -> Logs:
        return Logs(self.checkpoint.logs(operator), self.fixed.durable)

    def _slots_of(self, stream: str, block: Block) -> Slots:
        keys = self.planned.keys[self.planned.inputs.index(stream)]
        return slot_function(self.fixed, self.planned).slots_of([block.column(key) for key in keys], block.rows)


def _alone(operator: ops.Operator) -> PipelineElement:
    return PipelineElement(operator.name, (operator.name,), "key", tuple(dict.fromkeys(operator.inputs)))


def is_empty(source: ops.Source) -> bool:
    opened = offset_source(source, 0)
    return opened is not None and opened.total == 0


def element_graph(graph: Graph, planned: PipelineElement) -> Graph:
    """The operators of an element, with a source for each stream that comes to it from elsewhere."""
    inputs = tuple(ops.Source(stream, (), graph.producer(stream).schema) for stream in planned.inputs)
    return Graph(planned.name, (*inputs, *(graph.operator(name) for name in planned.operators)))


@lru_cache(maxsize=8)
def _fixed(directory: str, epoch: int, file: tuple[int, int, int]) -> Fixed:
    return Checkpoint(directory).fixed()


def _application_file(directory: str) -> tuple[int, int, int]:
    """Tells apart the applications that one directory had: epochs begin again where a checkpoint was deleted."""
    found = os.stat(os.path.join(directory, APPLICATION))
    return found.st_ino, found.st_mtime_ns, found.st_size


_workers: dict[tuple[str, int, Fused, int], ElementWorker] = {}


def element_worker(
    directory: str, epoch: int, fused: Fused | tuple[str, ...], number: int, *, dumps: Dumps, freezes: bool = False
) -> ElementWorker:
    """The element of a checkpoint in this process; what was made for it is kept, as a cache that may vanish.

    Each start of a driver has an epoch of its own and may bring other functions, so nothing made for another is used.

    `dumps` pickles the state of user operators.  `freezes`: Spark's worker collects garbage after each task, and what
    lives on need not be looked at again.
    """
    fixed, fused = _fixed(directory, epoch, _application_file(directory)), fused_of(fused)
    key = (fixed.checkpoint_id, epoch, fused, number)
    is_released, is_new = _release_ended(fixed.checkpoint_id), key not in _workers
    if is_new:
        for old in [k for k in _workers if k[0] == key[0] and k[1:3] != key[1:3]]:
            _workers.pop(old).end_threads()  # its operators would keep old functions, or state that others go on with
            is_released = True
        _workers[key] = ElementWorker(Checkpoint(directory), fixed, layout_of(fixed.graph, fused), number, dumps)
        close_removed()
    if is_released:
        GARBAGE.release(freezes=freezes)
    elif is_new and freezes:
        gc.freeze()
    return _workers[key]


def _release_ended(checkpoint_id: str) -> bool:
    """Lets go what was made for runs that have ended: it maps files that are deleted, whose memory nobody else has.

    Tells whether there was any.  A process mostly serves one run, and then looks at nothing.
    """
    others = {key: worker for key, worker in _workers.items() if key[0] != checkpoint_id}
    ended = [key for key, worker in others.items() if worker.checkpoint.has_ended(key[1])]
    for key in ended:
        _workers.pop(key).end_threads()
    if ended:
        close_removed()
    return bool(ended)
