"""The runtime of a threaded element: steps, turns and the schedule, under one lock.

No deadlock: every strand of a step is on a thread, in the schedule, or waits for its turn behind a lower step. So the
lowest step in flight waits for nobody; whoever is awake brings it to its end. Memory is bounded by the steps in
flight: fed, but not given on. Each stage's queue holds one block of each at most.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from penstock.block.block import Block
from penstock.block.position import Frontier
from penstock.element.element import has_work
from penstock.element.threads.schedule import Schedule
from penstock.element.threads.stage import ThreadedStage
from penstock.element.threads.step import Step
from penstock.element.threads.thread_slot import ThreadSlot
from penstock.element.threads.timing.calls import TimedCalls
from penstock.element.threads.timing.other_elements import ELEMENTS
from penstock.element.threads.timing.rate import Rate
from penstock.element.threads.wiring import Wiring
from penstock.errors import OperatorError
from penstock.operators.failures import failure_of
from penstock.operators.protocol import OperatorRuntime

Outputs = dict[str, Block]
Release = Callable[[Step, Outputs], None]
Item = TypeVar("Item")


class StagedElement(Protocol):
    """What the runtime needs of an element: its streams by number, those that are asked for, its operators."""

    number: dict[str, int]
    wanted: tuple[tuple[str, int], ...]
    runtimes: dict[str, OperatorRuntime]

    def at_depth(self, stream: int, block: Block) -> Block: ...


class Runtime:
    """What the feeding thread and the scheduler threads share.

    `release` gets each complete step (in the order of feeding, if `ordered`) while the lock is held.
    """

    def __init__(
        self,
        element: StagedElement,
        wiring: Wiring,
        schedule: Schedule,
        release: Release,
        *,
        ordered: bool,
        rate: Rate,
        thread_slots: dict[int, ThreadSlot],
        calls: TimedCalls,
    ) -> None:
        self.element, self.wiring, self.schedule, self.rate = element, wiring, schedule, rate
        self.lock = threading.RLock()  # a forgotten element ends its threads whenever garbage is collected, here too
        self.work = threading.Condition(self.lock)  # threads that are awake and have nothing to do
        self.awake = threading.Condition(self.lock)  # threads that are suspended
        self.space = threading.Condition(self.lock)  # the feeding thread
        self.thread_slots = thread_slots  # by thread
        self.calls = calls
        self.level, self.idle, self.in_flight, self.most_in_flight = 0, 0, 0, 1
        self._space_at, self._peak_in_flight, self._is_ending = 0, 0, False
        self.failure: BaseException | None = None
        self.is_closed = False
        self._reorder = Reorder[tuple[Step, Outputs]](ordered=ordered)
        self._release = release
        ELEMENTS.add(self)

    def feed(self, thread_slot: ThreadSlot, number: int, blocks: Mapping[str, Block], frontier: Frontier) -> None:
        """Takes a step in and runs it as far as no queue stops it; waits while too many steps are in flight."""
        streams = self.wiring.empty.copy()
        tuples = 0
        for name, block in blocks.items():
            streams[self.element.number[name]] = block
            tuples += block.rows
        step = Step(number, streams, frontier, self.wiring.missing.copy(), tuples)
        with self.lock:
            if self.in_flight >= self.most_in_flight:
                self._wait(thread_slot, self.most_in_flight // 2)  # half, so as not to wake up for each step
            self.in_flight += 1
            self._peak_in_flight = max(self._peak_in_flight, self.in_flight)
        roots = [r for r in reversed(self.wiring.roots) if (r.needs_visits or r.has_work(step)) and self._go(r, step)]
        self.run(thread_slot, roots, step)

    def pass_over(self, steps: int) -> None:
        """So many steps that nobody else knows of went straight through the operators; none is in flight."""
        with self.lock:
            self._reorder.pass_over(steps)
            for stage in self.wiring.stages:
                if stage.is_ordered:
                    stage.turn += steps

    def finish(self, thread_slot: ThreadSlot, *, all_at_once: bool) -> bool:
        """No more is fed: waits until a step less is in flight, or none at all; tells whether any is left."""
        with self.lock:
            self._is_ending = True
            self._slow_down()
            self._wait(thread_slot, 0 if all_at_once else max(self.in_flight - 1, 0))
            if not self.in_flight:
                self._is_ending, self._peak_in_flight = False, 0
            return self.in_flight > 0

    def _slow_down(self) -> None:
        """Towards the end threads go without work, which says nothing of them: time counts by those that have a step.

        Where never more steps were there, those were all that threads could be of use for.
        """
        usable = max(min(self.level, self._peak_in_flight), 1)
        self.rate.go_at(min(self.in_flight / usable, 1.0))

    def _wait(self, thread_slot: ThreadSlot, most: int) -> None:
        """Waits, the lock held, until so few steps are in flight; does the work itself while no thread is awake."""
        self._space_at = most
        while self.failure is None and self.in_flight > most:
            if self.is_closed:  # by another thread: nobody goes on with what is in flight
                raise OperatorError("this element was closed while it was fed; blocks in progress are lost")
            if self.level or not len(self.schedule):
                self.space.wait()
                continue
            stage, step = self.take()
            self.lock.release()
            try:
                self.run(thread_slot, [stage], step)
            finally:
                self.lock.acquire()

    def take(self) -> tuple[ThreadedStage, Step]:
        """The next block of the schedule; the lock is held."""
        stage, step = self.schedule.pop()
        stage.in_queue -= 1
        return stage, step

    def run(self, thread_slot: ThreadSlot, stages: list[ThreadedStage], step: Step) -> None:
        """Runs stages and all that follows them, depth first, by function calls, up to the next queues."""
        thread_slot.step = step
        try:
            while stages:
                stage = thread_slot.stage = stages.pop()
                self._call(thread_slot, stage, step)
                if stage.is_ordered:
                    self._pass_turn(stage)
                for reader in stage.readers:
                    if reader.producers > 1:
                        if not self._is_last(reader, step):
                            continue
                    elif not (reader.needs_visits or reader.has_work(step)):
                        continue
                    if self._go(reader, step):
                        stages.append(reader)
            self._end_strand(step)
        except BaseException as error:
            self._fail(thread_slot, error)
        finally:
            thread_slot.stage = thread_slot.step = None

    def _call(self, thread_slot: ThreadSlot, stage: ThreadedStage, step: Step) -> None:
        streams = step.streams
        if not stage.needs_visits or stage.has_work(step):  # the others are visited for work only
            inputs = [streams[i] for i in stage.inputs]
            thread_slot.untimed -= 1
            if thread_slot.untimed > 0:
                outputs = stage.process(inputs, step.frontier)
            else:
                outputs = self.calls.call(stage, inputs, step.frontier)
                thread_slot.untimed = self.calls.gap()
            for i, block in zip(stage.outputs, outputs, strict=True):
                if stage.places or (stage.places is not None and block.position is not None):
                    block = self.element.at_depth(i, block)
                streams[i] = block
        for i in stage.frees:
            streams[i] = self.wiring.empty[i]

    def _go(self, stage: ThreadedStage, step: Step) -> bool:
        """Whether the thread that came to a stage goes on with it itself; else others will."""
        queues = stage.is_queued and (not stage.needs_visits or stage.has_work(step))
        if not stage.is_ordered:
            if queues:
                with self.lock:
                    step.strands += 1
                    self._push(stage, step)
            return not queues
        with self.lock:
            if stage.is_busy or stage.turn != step.number:
                step.strands += 1
                stage.waiting[step.number] = step
                self._count(stage)
                return False
            stage.is_busy = True
            if queues:
                step.strands += 1
                self._push(stage, step)
            return not queues

    def _pass_turn(self, stage: ThreadedStage) -> None:
        """Lets the next step into an ordered stage; one that waited goes to whoever is free."""
        with self.lock:
            stage.turn += 1
            following = stage.waiting.pop(stage.turn, None)
            if following is None:
                stage.is_busy = False
            else:
                stage.in_queue -= 1
                self._push(stage, following)

    def _is_last(self, stage: ThreadedStage, step: Step) -> bool:
        """Whether all that a stage with several producers reads of a step is there now."""
        with self.lock:
            step.missing[stage.number] -= 1
            return step.missing[stage.number] == 0

    def _push(self, stage: ThreadedStage, step: Step) -> None:
        if self.failure is not None:
            return
        self.schedule.push(stage, step)
        self._count(stage)
        if self.idle:
            self.work.notify()
        if not self.level:
            self.space.notify()

    def _count(self, stage: ThreadedStage) -> None:
        stage.in_queue += 1
        stage.most_in_queue = max(stage.most_in_queue, stage.in_queue)

    def _end_strand(self, step: Step) -> None:
        with self.lock:
            step.strands -= 1
            if step.strands:
                return
            outputs = {name: step.streams[i] for name, i in self.element.wanted if has_work((step.streams[i],))}
            released = self._reorder.add(step.number, (step, outputs))
            for complete, blocks in released:
                self._release(complete, blocks)
            self.rate.add(step.tuples)
            self.in_flight -= len(released)  # one that is held for the order still takes memory
            if self._is_ending:
                self._slow_down()
            if self.in_flight <= self._space_at or not self.level:
                self.space.notify()

    def _fail(self, thread_slot: ThreadSlot, error: BaseException) -> None:
        """The first failure ends the element: nothing more is started, and the feeding thread gets it."""
        with self.lock:
            if self.failure is None:
                self.failure = failure_of(None if thread_slot.stage is None else thread_slot.stage.operator, error)
            self.schedule.clear()
            self.space.notify_all()


class Reorder(Generic[Item]):
    """Holds what is ahead of a step that is not complete; without `ordered` nothing is held.

    >>> reorder = Reorder[str](ordered=True)
    >>> reorder.add(1, "second"), reorder.add(0, "first")
    ([], ['first', 'second'])
    """

    def __init__(self, *, ordered: bool) -> None:
        self._ordered, self._next = ordered, 0
        self._early: dict[int, Item] = {}

    def add(self, number: int, item: Item) -> list[Item]:
        """Those that can go on now."""
        if not self._ordered:
            return [item]
        if number != self._next:
            self._early[number] = item
            return []
        ready = [item]
        self._next += 1
        while self._next in self._early:
            ready.append(self._early.pop(self._next))
            self._next += 1
        return ready

    def pass_over(self, count: int) -> None:
        """So many are not added, as they have gone on already; none is held."""
        self._next += count
