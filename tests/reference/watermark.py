"""Watermarks, late tuples and event-time order, one tuple and one tick at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.app import operators as ops
from penstock.app.graph import Graph
from penstock.app.windows import MICROSECONDS, Window
from tests.reference.aggregates import Aggregate, key_of
from tests.reference.events import Event, Item, Position, Row, merged
from tests.reference.join import Join
from tests.reference.letters import Letters
from tests.reference.sort import Sort
from tests.reference.windows import Firing, Held, number_of

LATE = "came late: the watermark had passed it"
AT_TICK = 2**62 + 2**32  # with the operator's place in the program: results stand after all that came of a tuple
THE_END: Position = (math.inf, math.inf, math.inf)


class Tick(NamedTuple):
    """What is known of a partition's event time from a place of the total order on."""

    root: Position
    kind: str  # "time", "idle", "ended", or "end" of all sources
    place: int = -1
    partition: int = 0
    time_us: int = 0


class Tuple(NamedTuple):
    """A tuple of a source, with its partition."""

    item: Item
    partition: int


def event_time_us(source: ops.Source, row: Row) -> int | None:
    window = Window("tumbling", "time", 1, 1, source.event_time)
    found: int | None = number_of(row, window, source.schema)
    return found


def ticks_of(source: ops.Source, place: int, tuples: Sequence[Tuple], partitions: int) -> list[Tick]:
    """A tick at each tuple, and one at its last that says that it has ended."""
    last = tuples[-1].item.position if tuples else (-math.inf, place, -1)
    ticks = []
    for item, partition in tuples:
        time_us = event_time_us(source, item.row)
        ticks += [] if time_us is None else [Tick(item.position, "time", place, partition, time_us)]
    return [*ticks, *(Tick(last, "ended", place, partition) for partition in range(partitions))]


def lags_us(graph: Graph, stream: str) -> dict[int, int]:
    """By source with an event time, how much older than its highest one a tuple of a stream may be."""
    producer = graph.producer(stream)
    if isinstance(producer, ops.Source):
        bound_us = round((producer.out_of_order_s or 0) * MICROSECONDS)
        return {} if producer.event_time is None else {graph.sources.index(producer): bound_us}
    windows = windows_of(producer)
    more = max(int(window.size) for window in windows) if windows else 0
    if isinstance(producer, ops.Delay) and is_merged(graph, producer):
        more = round(producer.delay_s * MICROSECONDS)
    return {place: lag + more for place, lag in _of_inputs(graph, producer).items()}


def _of_inputs(graph: Graph, operator: ops.Operator) -> dict[int, int]:
    found: dict[int, int] = {}
    for stream in operator.inputs:
        for place, lag in lags_us(graph, stream).items():
            found[place] = max(lag, found.get(place, 0))
    return found


def is_merged(graph: Graph, operator: ops.Operator) -> bool:
    """Whether an operator with several inputs can be reached from one."""
    readers = [o for o in graph.operators if set(o.inputs) & set(operator.outputs)]
    return any(len(reader.inputs) > 1 or is_merged(graph, reader) for reader in readers)


def windows_of(operator: ops.Operator) -> list[Window]:
    """The time windows of an operator, by input."""
    match operator:
        case ops.Aggregate() | ops.Sort():
            windows = [operator.window]
        case ops.Join():
            windows = [operator.left_window, operator.right_window]
        case _:
            windows = []
    return windows if all(window.measure == "time" for window in windows) else []


def goes_by_watermark(graph: Graph, operator: ops.Operator) -> bool:
    """Whether it has time windows, and one of the sources that reach it says how late its tuples may come."""
    bounds_s = [graph.sources[place].out_of_order_s for place in _of_inputs(graph, operator)]
    return bool(windows_of(operator)) and any(bound_s is not None for bound_s in bounds_s)


@dataclass
class Clock:
    """The lowest, over partitions that are neither idle nor ended, of highest event time less the lag."""

    lags: Mapping[int, int]
    partitions: Mapping[int, int]
    highest: dict[tuple[int, int], float] = field(default_factory=dict)
    quiet: set[tuple[int, int]] = field(default_factory=set)
    watermark: float = -math.inf

    def __post_init__(self) -> None:
        for place in self.lags:
            for partition in range(self.partitions[place]):
                self.highest[place, partition] = -math.inf

    def on_tick(self, tick: Tick) -> None:
        own = (tick.place, tick.partition)
        if tick.kind == "end":
            self.watermark = math.inf
        if tick.place not in self.lags:
            return
        if tick.kind == "time":
            self.quiet.discard(own)
            self.highest[own] = max(self.highest[own], tick.time_us - self.lags[tick.place])
        else:
            self.quiet.add(own)
        holding = [time for key, time in self.highest.items() if key not in self.quiet]
        self.watermark = max(self.watermark, min(holding) if holding else max(self.highest.values()))


class Waiting(NamedTuple):
    """A tuple in front of an operator: what it is ordered by, its input, and itself."""

    order: tuple[Any, ...]
    port: int
    item: Item
    time_us: int


class Watermarked:
    """An operator with time windows behind a buffer; `results` are what it emits, with their positions."""

    def __init__(
        self,
        operator: ops.Operator,
        graph: Graph,
        letters: Letters,
        partitions: Mapping[int, int],
        partition_at: Mapping[Position, int],
    ) -> None:
        self.operator, self.graph, self.letters, self.partition_at = operator, graph, letters, partition_at
        self.windows = windows_of(operator)
        self.schemas = [graph.producer(stream).schema for stream in operator.inputs]
        self.clock = Clock(_of_inputs(graph, operator), partitions)
        self.waiting: list[Waiting] = []
        self.dropped = 0
        self.results: list[Event] = []
        self.passed: list[Waiting] = []
        self.fired_us = -math.inf
        self.join = Join(operator, self.schemas, letters) if isinstance(operator, ops.Join) else None

    def run(self, inputs: Sequence[list[Event]], ticks: Sequence[Tick]) -> list[Event]:
        """A tick acts after all tuples of its own root."""
        tuples = [(event.position[:3], 0, n, port, event) for n, (port, event) in enumerate(merged(inputs))]
        both: list[Any] = [*tuples, *((tick.root, 1, n, tick) for n, tick in enumerate(ticks))]
        for event in sorted(both, key=lambda own: own[:3]):
            if event[1] == 0:
                if isinstance(event[4], Item):
                    self.on_tuple(event[3], event[4])
            else:
                self.clock.on_tick(event[3])
                self.release(event[0])
        return self.results

    def on_tuple(self, port: int, item: Item) -> None:
        name, window = self.operator.name, self.windows[port]
        time_us = number_of(item.row, window, self.schemas[port])
        if time_us is None:
            reason = f"has no number in '{window.on}', on which its window runs"
            self.letters.add(name, reason, item.row, self.schemas[port])
        elif self.is_passed(time_us):
            if self.late(item.position[1]) == "drop":
                self.dropped += 1
            else:
                self.letters.add(name, LATE, item.row, self.schemas[port])
        else:
            self.waiting.append(Waiting((time_us, *self.order(item)), port, item, time_us))

    def late(self, place: float) -> str:
        """What becomes of a late tuple of a source; what windows fire at the end is of none."""
        return self.graph.sources[int(place)].late if math.isfinite(place) else "dead_letter"

    def order(self, item: Item) -> tuple[Any, ...]:
        """Source, partition and offset, then output numbers; of what a watermark fired, only those."""
        stamp, place, sequence, *levels = item.position
        if levels and levels[0] >= AT_TICK:
            return (math.inf, 0, 0.0, 0, *levels)
        return (place, self.partition_at[stamp, place, sequence], stamp, sequence, *levels)

    def is_passed(self, time_us: int) -> bool:
        """Whether the watermark is in a later pane; for a join, whether it is beyond a tuple's time."""
        if math.isinf(self.clock.watermark):
            return self.clock.watermark > 0
        every = 1 if self.join is not None else int(self.windows[0].every)
        return time_us // every < self.clock.watermark // every

    def release(self, root: Position) -> None:
        """Tuples come to the windows in the order of their event times; then windows fire that have ended."""
        passed = sorted(own for own in self.waiting if self.is_passed(own.time_us))
        self.waiting = [own for own in self.waiting if not self.is_passed(own.time_us)]
        place = self.graph.operators.index(self.operator)
        if self.join is not None:
            for own in passed:
                for number, (_, row) in enumerate(self.join.on_tuple(own.port, own.item)):
                    self.results.append(Item((*root, AT_TICK + place, *own.order, own.port, number), row))
            return
        self.passed += passed
        for end in self.ends():
            inside = [own for own in self.passed if end - int(self.windows[0].size) <= own.time_us < end]
            self.fire(end, inside, (*root, AT_TICK + place, end))

    def ends(self) -> list[int]:
        """The ends that the watermark has passed, of windows that hold something and have not fired."""
        size, every = int(self.windows[0].size), int(self.windows[0].every)
        ends = {own.time_us // every * every + every + step for own in self.passed for step in range(0, size, every)}
        found = sorted(end for end in ends if self.fired_us < end <= self.clock.watermark)
        self.fired_us = max([self.fired_us, *found])
        return found

    def fire(self, end: int, inside: list[Waiting], position: Position) -> None:
        if isinstance(self.operator, ops.Sort):
            rows = Sort(self.operator, self.schemas[0], self.letters)._sorted([own.item.row for own in inside])
            self.results += [Item((*position, number), row) for number, row in enumerate(rows)]
            return
        assert isinstance(self.operator, ops.Aggregate)
        held = [Held(own.item.row, key_of(own.item.row, self.operator.by), own.time_us, 0) for own in inside]
        for group in dict.fromkeys(h.group for h in held):
            oldest = next(own for own, h in zip(inside, held, strict=True) if h.group == group)
            for row in self._result(held, group, end):
                self.results.append(Item((*position, *oldest.order), row))

    def _result(self, held: list[Held], group: Any, end: int) -> list[Row]:
        assert isinstance(self.operator, ops.Aggregate)
        aggregate = Aggregate(self.operator, self.schemas[0], self.letters)
        return aggregate.results_of(Firing(held, end), group)


def depth_of_results(operator: ops.Operator, depth: int) -> int:
    """How many numbers follow the root of a result; its order has five before those of the tuple itself."""
    match operator:
        case ops.Join():
            return 1 + 5 + depth + 2
        case ops.Aggregate():
            return 2 + 5 + depth
        case _:
            return 3
