"""The threaded element: what `Element` computes, on several threads."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from penstock.app.graph import Graph
from penstock.block.block import Block
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import EVERYTHING, Frontier
from penstock.element.element import Element, MakeOperator
from penstock.element.threads.runtime import Outputs, Runtime, StagedElement
from penstock.element.threads.schedule import OLDEST_FIRST, schedule_of
from penstock.element.threads.scheduler_thread import SchedulerThread
from penstock.element.threads.setting_checks import checked_queues, checked_threads
from penstock.element.threads.shards import sharded
from penstock.element.threads.step import Step
from penstock.element.threads.step_letters import StepLetters
from penstock.element.threads.thread_slot import ThreadSlot
from penstock.element.threads.timing.calls import EVERY, TimedCalls
from penstock.element.threads.timing.rate import Moment, Rate
from penstock.element.threads.timing.sampler import PERIOD_S, Sampler
from penstock.element.threads.wiring import Wiring, wire
from penstock.errors import OperatorError
from penstock.measure.thread_figures import ThreadFigures
from penstock.operators.factory import make_operator
from penstock.operators.protocol import OperatorRuntime

BLOCKS_PER_THREAD = 4
MAX_THREADS = 64
_FADING = 0.5  # what a sample counts for one period later


class Around(NamedTuple):
    """Operators that were made elsewhere, how they are wired, and which of their calls are timed."""

    element: StagedElement
    wiring: Wiring
    calls: TimedCalls


class Finished(NamedTuple):
    """What one step gave: its number, counted from 0 as steps were fed, and the blocks that were asked for."""

    step: int
    blocks: dict[str, Block]


class ThreadedElement:
    """Operators of a graph on several threads; the results are those of `Element.step`, to the bit.

    Where an operator has a queue in front, the thread that brings a block leaves it there; `threads` scheduler threads
    take blocks from the queues, the oldest step first. Elsewhere operators are called as functions. With no thread
    awake the feeding thread does everything. Both settings may be changed at any moment, by any thread.

    An exception in an operator is raised by the next call of `feed` or `drain`; after it the element is closed.
    `around` has operators that exist already, and write their dead letters to `letters`; it is used instead of a maker.
    `shards` splits the state of aggregates over groups' own windows by slot (None: where that pays), so that several
    threads work on it; `time_every` says which calls are timed.
    """

    def __init__(
        self,
        graph: Graph,
        letters: DeadLetters,
        wanted: Mapping[str, str],
        *,
        threads: int = 0,
        queued: Iterable[str] = (),
        positioned: frozenset[str] | None = None,
        make: MakeOperator = make_operator,
        ticked: Collection[str] | None = None,
        schedule: str = OLDEST_FIRST,
        ordered: bool = True,
        shards: int | None = None,
        max_threads: int = MAX_THREADS,
        blocks_per_thread: int = BLOCKS_PER_THREAD,
        sample_period_s: float | None = PERIOD_S,
        time_every: int = EVERY,
        clock: Callable[[], float] = time.perf_counter,
        around: Around | None = None,
    ) -> None:
        self.graph, self.max_threads, self._blocks_per_thread = graph, max_threads, blocks_per_thread
        own = letters if isinstance(letters, StepLetters) else StepLetters(letters, {})
        self._results = _Results(own)
        if shards is None and make is not make_operator:
            shards = 1  # another maker's state may not bear to be made twice
        if around is None:
            element = Element(graph, own, wanted, positioned=positioned, make=sharded(make, shards), ticked=ticked)
            around = Around(element, wire(element, graph), TimedCalls(time_every))
        self.runtimes: dict[str, OperatorRuntime] = around.element.runtimes
        self._rate = Rate(clock)
        self._runtime = Runtime(
            around.element, around.wiring, schedule_of(schedule), self._results.release,
            ordered=ordered, rate=self._rate, thread_slots=own.thread_slots, calls=around.calls,
        )  # fmt: skip
        self._threads: list[SchedulerThread] = []
        self._thread_slot, self._feeder, self._steps = ThreadSlot(), -1, 0
        self._looked_at = 0.0, Moment()
        self._sampler = (
            None if sample_period_s is None else Sampler(self._runtime.thread_slots, sample_period_s, self._thread_slot)
        )
        self._finalize = weakref.finalize(self, _end, self._runtime, self._sampler)
        self.set(threads, queued)
        if self._sampler is not None:
            self._sampler.start()

    def feed(self, blocks: Mapping[str, Block], frontier: Frontier = EVERYTHING) -> list[Finished]:
        """Takes the next step, one block per source; gives what is complete by now.

        Waits while too many steps are in flight, so memory is bounded however fast blocks come.
        """
        self._begin()
        self._runtime.feed(self._thread_slot, self._steps, blocks, frontier)
        self._steps += 1
        return self._taken()

    def pass_over(self, steps: int, tuples: int) -> None:
        """The feeding thread ran so many steps itself, straight through the operators, while the element was clear."""
        self._begin()
        self._runtime.pass_over(steps)
        self._rate.add(tuples)
        self._steps += steps

    def drain(self) -> list[Finished]:
        """Waits until everything that was fed is complete, and gives the rest of it."""
        self._begin()
        self._runtime.finish(self._thread_slot, all_at_once=True)
        self._pause()
        return self._taken()

    def rest(self) -> Iterator[Finished]:
        """Everything that was fed and not given yet, as soon as it is complete."""
        yield from self._taken()
        self._begin()
        while self._runtime.finish(self._thread_slot, all_at_once=False):
            yield from self._taken()
            self._begin()
        self._pause()
        yield from self._taken()

    @property
    def is_closed(self) -> bool:
        """Whether it is of no more use."""
        return self._runtime.is_closed

    def set(self, threads: int | None = None, queued: Iterable[str] | None = None) -> None:
        """Changes thread level and queue placement (None: leaves as it is), while the element runs."""
        level = None if threads is None else checked_threads(threads, self.max_threads)
        names = None if queued is None else checked_queues(queued, self.graph)
        runtime = self._runtime
        with runtime.lock:
            for stage in runtime.wiring.stages if names is not None else ():
                stage.is_queued = names is not None and stage.operator.name in names and stage.can_queue
            if level is not None:
                self._set_level(level)

    def observe(self) -> ThreadFigures:
        """The figures since the last time."""
        runtime, rate = self._runtime, self._rate
        with runtime.lock:
            from_s, earlier = self._looked_at
            busy_s, last = self._looked_at = rate.busy_s, rate.last
        stages = runtime.wiring.stages
        queues = {stage.operator.name: stage.most_in_queue for stage in stages if stage.most_in_queue}
        return ThreadFigures(
            busy_s=busy_s - from_s,
            tuples=last.tuples - earlier.tuples,
            rate_tuples_s=last.tuples_s(earlier),
            threads=runtime.level,
            max_threads=self.max_threads,
            queued=frozenset(stage.operator.name for stage in stages if stage.is_queued),
            samples=self._samples(),
            most_in_queue=queues,
            in_flight=runtime.in_flight,
            holds_gil=self.holds_gil,
            complete_s=last.busy_s - earlier.busy_s,
        )

    @property
    def holds_gil(self) -> frozenset[str]:
        """Operators that threads cannot speed up, as far as is known; to ask begins no new period."""
        return frozenset() if self._sampler is None else self._sampler.holds_gil()

    @property
    def steps(self) -> int:
        """How many were fed so far: the number of the next one."""
        return self._steps

    @property
    def in_flight(self) -> int:
        """Steps that were fed and are not complete."""
        return self._runtime.in_flight

    @property
    def is_clear(self) -> bool:
        """Whether everything that was fed is complete, and was given."""
        with self._runtime.lock:
            return not self._runtime.in_flight and not self._results.finished

    @property
    def complete_s(self) -> float:
        """Busy seconds up to the newest step that is complete."""
        return self._rate.last.busy_s

    @property
    def busy_s(self) -> float:
        """Seconds during which there was input."""
        return self._rate.busy_s

    @property
    def sampled_ns(self) -> Callable[[], int]:
        """Tells how long the sampler may have kept other threads from the GIL so far; keeps no element from its end."""
        sampler = self._sampler
        return (lambda: 0) if sampler is None else (lambda: sampler.held_ns)

    @property
    def gil_is_free(self) -> Callable[[], bool]:
        """Tells whether threads hardly ever wait for the GIL, in this element or any other; False if nobody knows."""
        sampler = self._sampler
        return (lambda: False) if sampler is None else (lambda: sampler.gil_is_free)

    @property
    def operator_cpu_s(self) -> dict[str, float]:
        """CPU seconds by operator, extrapolated from the calls that were timed."""
        calls = self._runtime.calls
        return {name: calls.every * spent_ns / 1e9 for name, spent_ns in calls.cpu_ns.items()}

    def close(self) -> None:
        """Ends all threads once each has done with the block it is at; the element is of no more use.

        The sampler may look once more, which is not waited for.
        """
        self._finalize()
        for thread in self._threads:
            if thread.ident is not None and thread is not threading.current_thread():
                thread.join()

    def __enter__(self) -> ThreadedElement:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> None:
        if self._runtime.is_closed:
            raise OperatorError("this element is closed, after an operator failed or by close(); make a new one")
        ident = threading.get_ident()
        if ident != self._feeder:
            with self._runtime.lock:
                self._runtime.thread_slots.pop(self._feeder, None)
                self._runtime.thread_slots[ident] = self._thread_slot
            self._thread_slot.take()
            self._feeder = ident
        if not self._rate.is_started:
            self._rate.resume()
            if self._sampler is not None:
                self._sampler.resume()

    def _pause(self) -> None:
        self._rate.pause()
        if self._sampler is not None:
            self._sampler.pause()

    def _taken(self) -> list[Finished]:
        with self._runtime.lock:
            failure = self._runtime.failure
            finished = self._results.take()
        if failure is not None:
            self._finalize()  # without waiting for threads that may be in a long call
            raise failure
        return finished

    def _set_level(self, level: int) -> None:
        runtime = self._runtime
        runtime.level, runtime.most_in_flight = level, self._blocks_per_thread * (level + 1)
        while len(self._threads) < level:
            self._threads.append(SchedulerThread(runtime, len(self._threads)))
            self._threads[-1].start()
        for waiting in (runtime.awake, runtime.work, runtime.space):
            waiting.notify_all()

    def _samples(self) -> dict[str, float]:
        if self._sampler is None:
            return {}
        counts = dict(self._sampler.counts)
        for name, count in counts.items():
            self._sampler.counts[name] -= count * (1 - _FADING)
        return counts


class _Results:
    """Complete steps until they are asked for, and the dead letters that come with them."""

    def __init__(self, letters: StepLetters) -> None:
        self.letters = letters
        self.finished: list[Finished] = []

    def release(self, step: Step, outputs: Outputs) -> None:
        self.letters.release(step)
        if outputs:
            self.finished.append(Finished(step.number, outputs))

    def take(self) -> list[Finished]:
        finished, self.finished = self.finished, []
        return finished


def _end(runtime: Runtime, sampler: Sampler | None) -> None:
    with runtime.lock:
        runtime.is_closed = True
        for waiting in (runtime.awake, runtime.work, runtime.space):
            waiting.notify_all()
    if sampler is not None:
        sampler.end()
