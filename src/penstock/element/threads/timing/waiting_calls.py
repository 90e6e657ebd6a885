"""Calls of operators, divided into computing and waiting."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable, Sequence

from penstock.block.block import Block
from penstock.block.position import Frontier
from penstock.element.threads.stage import ThreadedStage
from penstock.element.threads.timing.calls import TimedCalls
from penstock.element.threads.timing.other_elements import UnknownThreads, thread_slots_by_feeder
from penstock.host.core_wait import SchedulerFigures, core_wait_ns

_THREADS = "/proc/self/task"


class WaitingCalls(TimedCalls):
    """Notes how long calls that are timed computed, and how long they waited: neither on a core nor in line for one.

    A call whose thread never gave up its core did not wait, whatever the clock says: time that a host takes from its
    guests is neither. Where one thread `is_alone`, other threads of the process work for it, as those of a library
    do: their time on a core, and in line for one, is the call's. For the GIL one that is alone can wait only while the
    sampler has it, which `sampled_ns` counts; beside others such waiting passes for any other.

    Threads of other elements work for themselves. Their time is left out only where the `gil_is_free`: a call may have
    waited for it as long as they computed.
    """

    def __init__(self, every: int) -> None:
        super().__init__(every)
        self.is_alone = False
        self.sampled_ns: Callable[[], int] = lambda: 0
        self.gil_is_free: Callable[[], bool] = lambda: False
        self._by_thread, self._by_process = _Spent(), _Spent()
        self._in_line_ns = others_in_line_ns()
        self._unknown = UnknownThreads()

    def call(self, stage: ThreadedStage, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        is_alone, all_ns = self.is_alone, 0
        # The wall clock comes innermost: to read the others takes system calls, which is where a thread loses its core.
        sleeps, delayed_ns = _sleeps(), core_wait_ns() + self.sampled_ns()
        if is_alone:
            all_ns = time.process_time_ns()
        own_ns = time.thread_time_ns()
        begin_ns = time.perf_counter_ns()
        outputs = stage.process(inputs, frontier)
        elapsed_ns = time.perf_counter_ns() - begin_ns
        own_ns = time.thread_time_ns() - own_ns
        if is_alone:
            all_ns = time.process_time_ns() - all_ns
        ready_ns = elapsed_ns - (core_wait_ns() + self.sampled_ns() - delayed_ns)
        if _sleeps() == sleeps:
            ready_ns = 0
        self._by_thread.add(own_ns, ready_ns)
        if is_alone:
            self._by_process.add(all_ns, ready_ns)
        return outputs

    def take(self) -> tuple[float, float]:
        """Seconds of computing and of waiting, since the last time; called on the feeding thread."""
        by_thread, by_process = self._by_thread, self._by_process
        self._by_thread, self._by_process = _Spent(), _Spent()
        before_ns, self._in_line_ns = self._in_line_ns, others_in_line_ns()
        in_line_ns, unknown_ns = max(self._in_line_ns - before_ns, 0), self._unknown.take()
        if not self.is_alone:
            return by_thread.seconds
        if self.every == 1:  # otherwise calls that were not timed had help, too
            by_process.help(in_line_ns)
        if unknown_ns is None or not self.gil_is_free():
            return by_process.seconds
        by_thread.help(in_line_ns + unknown_ns)
        return min(by_thread, by_process, key=lambda spent: spent.computing).seconds  # neither is less than the truth


class _Spent:
    """Nanoseconds that calls computed and waited."""

    __slots__ = ("computed_ns", "waited_ns")

    def __init__(self) -> None:
        self.computed_ns = self.waited_ns = 0

    def add(self, cpu_ns: int, ready_ns: int) -> None:
        """A call that had so much time of a core, and so much in which it did not stand in line for one."""
        self.computed_ns += cpu_ns
        if ready_ns > cpu_ns:
            self.waited_ns += ready_ns - cpu_ns

    def help(self, helped_ns: int) -> None:
        """Others worked for so much of the waiting."""
        helped_ns = min(helped_ns, self.waited_ns)
        self.computed_ns += helped_ns
        self.waited_ns -= helped_ns

    @property
    def computing(self) -> float:
        total_ns = self.computed_ns + self.waited_ns
        return self.computed_ns / total_ns if total_ns else 1.0

    @property
    def seconds(self) -> tuple[float, float]:
        return self.computed_ns / 1e9, self.waited_ns / 1e9


def _sleeps() -> int:
    """How often this thread gave up its core to wait."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def others_in_line_ns() -> int:
    """How long threads of this process have stood in line for a core: all but this one and those of other elements."""
    try:
        numbers = set(os.listdir(_THREADS))
    except OSError:
        return 0
    own, others = ({slot.native_id for slot in slots} for slots in thread_slots_by_feeder())
    aside = {thread.native_id for thread in threading.enumerate() if thread.name.startswith("penstock")}  # samplers
    left_out = (aside - own) | others | {threading.get_native_id()}
    helping = numbers - {str(number) for number in left_out}
    return sum(SchedulerFigures(f"{_THREADS}/{number}/schedstat").line_ns() for number in helping)
