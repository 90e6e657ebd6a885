"""The threads of an element at work, at a fixed number or one that a policy finds, task after task."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from penstock.app.graph import Graph
from penstock.block.block import Block
from penstock.block.position import Frontier
from penstock.control.threads.element_setting import ElementSetting
from penstock.control.threads.thread_control import Share, ThreadControl, learned_from_text
from penstock.element.element import Element
from penstock.element.threads.lanes import SlotLanes
from penstock.element.threads.schedule import OLDEST_FIRST
from penstock.element.threads.setting_checks import readers_of_sources
from penstock.element.threads.step_letters import StepLetters
from penstock.element.threads.threaded_element import Around, Finished, ThreadedElement
from penstock.element.threads.timing.waiting_calls import WaitingCalls
from penstock.element.threads.wiring import wire
from penstock.host.idle_cores import IdleCores
from penstock.measure.replica_threads import ReplicaThreads, ThreadsLeft
from penstock.measure.thread_figures import ThreadFigures
from penstock.measure.thread_observation import observation_of
from penstock.plan.thread_setting import MOST_THREADS, ElasticThreads

Place = tuple[int, tuple[int, int, int]]  # of a step among the task's messages: number, and what triggered it
Given = Iterator[tuple[Place, dict[str, Block]]]
# Of calls beside others every fourth is timed, or a hundred a period: to read all the clocks takes eight system calls,
# as long as a block of a light operator.
_TIME_EVERY, _TIMED_STEPS = 4, 100
_WATCHED_STEPS = 200  # a period, of a thread alone; the others run inline
_NOWHERE: Place = (0, (0, 0, 0))
_LONGEST_INLINE_S = 0.1


class ElementThreads:
    """Runs the steps of one task after the other: `begin`, `feed` them all, take the `rest`, see what is `left`.

    In a Spark worker it is kept between tasks, as a cache that may vanish; in one process all input is one task.  One
    that ends before it has taken the rest leaves threads at work: they must be closed.
    """

    def __init__(self, graph: Graph, application: Graph, letters: StepLetters, schedule: str = OLDEST_FIRST) -> None:
        self._graph, self._application, self._letters, self._schedule = graph, application, letters, schedule
        self._staged: Element | SlotLanes | None = None
        self._threaded: ThreadedElement | None = None
        self._calls = WaitingCalls(_TIME_EVERY)
        self._idle = IdleCores()
        self._control: ThreadControl | None = None
        self._fixed = 1
        self._places: dict[int, Place] = {}
        self._fed = self._counted = 0
        self._complete_s = self._look_from_s = 0.0
        self._inline, self._unwatched = InlineSteps(), 0  # steps between two that are watched
        self._idle_cores: float | None = None
        self._holds_gil: frozenset[str] = frozenset()
        self.is_at_work = False

    @property
    def _operators(self) -> tuple[str, ...]:
        return tuple(operator.name for operator in self._graph.operators)

    @property
    def element(self) -> ThreadedElement:
        assert self._threaded is not None
        return self._threaded

    def begin(
        self,
        staged: Element | SlotLanes,
        request: int | ElasticThreads,
        cores: Callable[[], int],
        learned: str | None = None,
    ) -> None:
        """A task with these operators; it goes on from what an earlier one `learned`; `cores` is asked each period."""
        self.is_at_work = True
        if self._threaded is None or self._staged is not staged or self._threaded.is_closed:
            self.close()
            self._make(staged)
        self._places, self._fed = {}, self.element.steps
        self._counted = self._fed
        self._inline, self._look_from_s = InlineSteps(), 0.0
        self._control, self._fixed = None, 1
        if isinstance(request, ElasticThreads):
            known = None if learned is None else learned_from_text(learned)
            if known is not None and known.operators not in ((), self._operators):
                known = None  # it was learned in another fusion
            self._cores = cores
            self._control = ThreadControl(request, cores(), known)
        else:
            self._fixed = request
        self._apply()
        self.element.observe()  # what comes now is this task's
        self._calls.take()
        self._complete_s = self.element.complete_s
        if self._control is not None:
            self._idle.resume()

    def feed(self, blocks: Mapping[str, Block], frontier: Frontier, place: Place = _NOWHERE) -> Given:
        """Takes a step, and gives what is complete by now, in the order of feeding."""
        if self._inline.left:
            yield place, self._step_inline(blocks, frontier)
            return
        self._tell_passed()
        if place is not _NOWHERE:  # most steps may give nothing, so that nobody would take theirs out
            self._places[self._fed] = place
        self._fed += 1
        finished = self.element.feed(blocks, frontier)
        self._look()
        if self._unwatched and self.element.is_clear:
            self._inline.allow(self._unwatched)
        yield from self._given(finished)

    def rest(self) -> Given:
        """All that is not given yet; then the task's threads have nothing to do."""
        self._tell_passed()
        for finished in self.element.rest():
            self._look()
            yield from self._given([finished])
        self._look(is_last=True)
        self._idle.pause()
        self._places = {}
        self.is_at_work = False

    def run(self, steps: Iterable[tuple[dict[str, Block], Frontier]]) -> Iterator[dict[str, Block]]:
        """What all of these steps give."""
        for blocks, frontier in steps:
            for _, outputs in self.feed(blocks, frontier):
                yield outputs
        self._tell_passed()
        for finished in self.element.drain():
            yield finished.blocks

    @property
    def needs_cores(self) -> bool:
        """Whether a task is under way, and none of its operators has failed."""
        threaded = self._threaded
        return self.is_at_work and threaded is not None and not threaded.is_closed

    @property
    def computing_threads(self) -> int:
        """The cores that its threads need; none between tasks."""
        if not self.needs_cores:
            return 0
        return self._fixed if self._control is None else self._control.computing_threads

    @property
    def left(self) -> ThreadsLeft:
        """What is known of the threads at the end of a task."""
        control = self._control
        seen = ReplicaThreads(
            self._fixed, MOST_THREADS, len(self._setting().queued), holds_gil=tuple(sorted(self._holds_gil)),
            idle_cores=self._idle_cores, queued=tuple(sorted(self._setting().queued)),
        )  # fmt: skip
        if control is None:
            return ThreadsLeft(seen)
        known = control.learned
        seen = replace(seen, level=control.level, most=known.most, waits=known.waits, reason=known.reason)
        return ThreadsLeft(seen, known.settled, replace(known, operators=self._operators).to_text())

    def close(self) -> None:
        """Ends all threads, each with the block it is at, and waits for them."""
        if self._threaded is not None:
            self._threaded.close()
            self._letters.thread_slots.clear()
        self._threaded = self._staged = None
        self._idle.pause()
        self.is_at_work = False

    def _make(self, staged: Element | SlotLanes) -> None:
        lanes = isinstance(staged, SlotLanes)
        wiring = staged.wiring() if isinstance(staged, SlotLanes) else wire(staged, self._graph, self._application)
        self._staged = staged
        self._threaded = ThreadedElement(
            self._graph, self._letters, {}, max_threads=MOST_THREADS, schedule=self._schedule,
            around=Around(staged, wiring, self._calls),
        )  # fmt: skip
        self._calls.sampled_ns = self._threaded.sampled_ns
        self._calls.gil_is_free = self._threaded.gil_is_free
        self._front = frozenset(s.operator.name for s in wiring.stages) if lanes else readers_of_sources(self._graph)
        self.is_at_work = True

    def _setting(self) -> ElementSetting:
        if self._control is not None:
            return self._control.in_force(self._front)
        return ElementSetting(self._fixed, self._front)

    def _apply(self, steps: int = 0) -> None:
        """Puts the setting in force; `steps` were done in the last period."""
        setting = self._setting()
        is_looking = self._control is not None and self._control.is_looking
        may_run_inline = self._control is not None and self._control.may_run_inline
        watched_every = 1
        if may_run_inline and isinstance(self._staged, Element):
            watched_every = max(1, steps // _WATCHED_STEPS)
        self._unwatched = watched_every - 1
        self._calls.every = 1 if is_looking else max(_TIME_EVERY, steps // (watched_every * _TIMED_STEPS))
        self._calls.is_alone = not setting.queued
        self.element.set(setting.threads, setting.queued)

    def _step_inline(self, blocks: Mapping[str, Block], frontier: Frontier) -> dict[str, Block]:
        assert isinstance(self._staged, Element)
        try:
            return self._inline.run(self._staged, blocks, frontier)
        except BaseException:
            self.element.close()
            raise

    def _tell_passed(self) -> None:
        steps, tuples = self._inline.take()
        if steps:
            self.element.pass_over(steps, tuples)
            self._fed += steps

    def _given(self, finished: Iterable[Finished]) -> Given:
        for step, blocks in finished:
            yield self._places.pop(step, _NOWHERE), blocks

    def _look(self, *, is_last: bool = False) -> None:
        """Lets the policy decide where a period is over; at the end of a task notes what there is of one."""
        control = self._control
        if not is_last and (control is None or time.perf_counter() < self._look_from_s):
            return
        element = self.element
        done, busy_s = self._fed - element.in_flight, element.complete_s - self._complete_s
        if not is_last and control is not None and not control.is_over(busy_s, done - self._counted):
            self._look_from_s = time.perf_counter() + control.left_s(busy_s)  # busy time goes no faster
            return
        figures = element.observe()
        self._holds_gil = figures.holds_gil
        if control is None:
            return
        self._idle_cores = self._idle.take()
        control.cores = self._cores()
        steps = done - self._counted
        control.take(self._share(figures, steps))
        self._counted, self._complete_s, self._look_from_s = done, element.complete_s, 0.0
        self._apply(steps)

    def _share(self, figures: ThreadFigures, steps: int) -> Share:
        computed_s, waited_s = self._calls.take()
        observation = observation_of(figures, self._graph)
        observation = replace(observation, period_s=figures.complete_s, idle_cores=self._idle_cores)
        return Share(observation, steps, computed_s, waited_s)


class InlineSteps:
    """Steps that the feeding thread runs through the operators itself while it is alone.

    Neither the sampler nor the clock of calls sees them. To be seen costs a step some twenty microseconds, as long as a
    light one takes itself. All steps before must be complete. After a tenth of a second none is left, as steps may have
    become long.
    """

    __slots__ = ("_steps", "_tuples", "_until_s", "left")

    def __init__(self) -> None:
        self.left = self._steps = self._tuples = 0
        self._until_s = 0.0

    def allow(self, steps: int) -> None:
        """The next `steps` run inline."""
        self.left, self._until_s = steps, time.perf_counter() + _LONGEST_INLINE_S

    def run(self, element: Element, blocks: Mapping[str, Block], frontier: Frontier) -> dict[str, Block]:
        outputs = element.step(blocks, frontier)
        self.left = self.left - 1 if time.perf_counter() < self._until_s else 0
        self._steps += 1
        for block in blocks.values():
            self._tuples += block.rows
        return outputs

    def take(self) -> tuple[int, int]:
        """Steps and tuples that ran inline since the last time; no more do before the next `allow`."""
        passed = self._steps, self._tuples
        self.left = self._steps = self._tuples = 0
        return passed
