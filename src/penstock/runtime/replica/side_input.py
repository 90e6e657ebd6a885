"""What travels beside the tuples to an element by clock or punctuation: ticks, partials and shares of split slots."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from penstock.app import operators as ops
from penstock.block.block import Block
from penstock.block.envelope import seal, unseal
from penstock.kernels.dealing import deal
from penstock.kernels.keys.hashing import Slots
from penstock.measure.task.task_meters import TaskFigures
from penstock.operators.event_time.keyed_event_time import SideInput
from penstock.operators.event_time.partial_aggregates import on_time
from penstock.operators.event_time.watermark_broadcast import tick_schema, ticks_of
from penstock.plan.configuration import ElementConfiguration
from penstock.plan.elements.punctuated_streams import fires_at_punctuations
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message
from penstock.runtime.replica.element_worker import ElementWorker
from penstock.runtime.slots.state_forms import slot_function


class SideInputSender:
    """What one task sends to one event-time element, as that is configured."""

    def __init__(self, worker: ElementWorker, number: int, own: ElementConfiguration, figures: TaskFigures) -> None:
        self._worker, self._number, self._own, self._figures = worker, number, own, figures
        self._element = worker.layout.pipeline.elements[number]
        self._operator = worker.fixed.graph.operator(self._element.operators[0])

    def ticks(self, stream: str, block: Block) -> Iterator[Message]:
        """What of a block may move the clock, to all replicas where there are several; punctuations to one, too."""
        hears_ticks = self._own.replicas > 1 or fires_at_punctuations(self._operator)
        for port, ticks in ticks_of(self._operator, stream, block) if hears_ticks else ():
            payload = seal(ticks)
            for replica in range(self._own.replicas):
                yield self._message(replica, message.TICKS, stream, port, payload)

    def split(self, stream: str, block: Block, sequence: int) -> tuple[Block, list[Message]]:
        """The block without the tuples of split slots, and what is sent for those.

        Tuples that are late in their own block, or have no time, go to their owner as ever.
        """
        if not self._own.split or self._own.replicas == 1 or not isinstance(self._operator, ops.Aggregate):
            return block, []
        slots = self._slots_of(block)
        rows, panes = on_time(block, self._operator)
        shared = rows[np.isin(slots[rows], self._own.split)]
        if not len(shared):
            return block, []
        self._figures.slots.count(self._element.name, np.bincount(slots[shared], minlength=len(self._own.route)))
        taken = block.take(shared)
        messages = [*self._partials(stream, taken, panes[shared], sequence), *self._shares(stream, taken, sequence)]
        rest = np.ones(block.rows, np.bool_)
        rest[shared] = False
        return block.take(np.flatnonzero(rest)), messages

    def _partials(self, stream: str, taken: Block, panes: np.ndarray, sequence: int) -> Iterator[Message]:
        made = self._worker.partials(self._element).made(taken, panes)
        rows, starts, _ = deal(self._slots_of(made), np.array(self._own.route, np.int32), self._own.replicas)
        dealt = made.take(rows)
        for replica in range(self._own.replicas):
            if starts[replica + 1] > starts[replica]:
                part = dealt.slice(int(starts[replica]), int(starts[replica + 1]))
                yield self._message(replica, message.PARTIALS, stream, sequence, seal(part))

    def _shares(self, stream: str, taken: Block, sequence: int) -> Iterator[Message]:
        """As many rows to each replica that has slots, as far as they go: another one would not know the clock."""
        owners = sorted(set(self._own.route))
        edges = np.linspace(0, taken.rows, len(owners) + 1).astype(np.int64).tolist()
        for replica, (start, stop) in zip(owners, itertools.pairwise(edges), strict=True):
            if stop > start:
                payload = seal(taken.slice(start, stop))
                self._figures.gave(stream, stop - start, payload.size)
                yield self._message(replica, message.SHARE, stream, sequence, payload)

    def _slots_of(self, block: Block) -> Slots:
        assert isinstance(self._operator, ops.Aggregate)
        columns = [block.column(key) for key in self._operator.by]
        return slot_function(self._worker.fixed, self._element).slots_of(columns, block.rows)

    def _message(self, replica: int, kind: str, stream: str, sequence: int, payload: pa.Buffer) -> Message:
        return Message(replica, self._number, kind, stream, sequence, payload)


def read_side_input(
    worker: ElementWorker, replica: int, mine: Iterable[Message], opened: Callable[[Message], Block]
) -> SideInput:
    """What came to an event-time element beside its tuples; `opened` unseals tuples and counts them.

    Punctuations are told to all replicas, and the first one passes them on.
    """
    assert worker.event_time_operator is not None
    ticks: dict[int, list[Block]] = {}
    partials, shares = [], []
    for m in mine:
        if m.kind == message.TICKS:
            schema = tick_schema(worker.event_time_operator, worker.graph.producer(m.name).schema)
            ticks.setdefault(m.sequence, []).append(unseal(m.payload, schema))
        elif m.kind == message.PARTIALS:
            partials.append(unseal(m.payload, worker.partials(worker.planned).schema))
        elif m.kind == message.SHARE:
            shares.append(opened(m))
    return SideInput(ticks, partials, shares, passes_marks=replica == 0)
