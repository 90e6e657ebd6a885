"""Calls of operators, told apart into computing and waiting."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable, Sequence

from penstock.element.block import Block
from penstock.element.core_wait import SchedulerFigures, core_wait_ns
from penstock.element.position import Frontier
from penstock.element.threads.calls import TimedCalls
from penstock.element.threads.stage import ThreadedStage


class WaitingCalls(TimedCalls):
    """Notes how long calls that are timed computed, and how long they waited: neither on a core nor in line for one.

    A call whose thread never gave up its core did not wait, whatever the clock says: time that a host takes from its
    guests is neither. Where one thread `is_alone`, other threads of the process work for it, as those of a library
    do: their time on a core, and in line for one, is the call's. For the GIL one that is alone can wait only while the
    sampler has it, which `sampled_ns` counts; beside others such waiting passes for any other.
    """

    def __init__(self, every: int) -> None:
        super().__init__(every)
        self.is_alone = False
        self.sampled_ns: Callable[[], int] = lambda: 0
        self.computed_ns = self.waited_ns = 0
        self._in_line_ns = others_in_line_ns()

    def call(self, stage: ThreadedStage, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        cpu_clock = time.process_time_ns if self.is_alone else time.thread_time_ns
        # The wall clock comes innermost: to read the others takes system calls, which is where a thread loses its core.
        sleeps, kept_ns, cpu_ns = _sleeps(), core_wait_ns() + self.sampled_ns(), cpu_clock()
        begin_ns = time.perf_counter_ns()
        outputs = stage.process(inputs, frontier)
        elapsed_ns = time.perf_counter_ns() - begin_ns
        cpu_ns = cpu_clock() - cpu_ns
        self.computed_ns += cpu_ns
        kept_ns = core_wait_ns() + self.sampled_ns() - kept_ns
        if _sleeps() > sleeps:
            self.waited_ns += max(elapsed_ns - cpu_ns - kept_ns, 0)
        return outputs

    def take(self) -> tuple[float, float]:
        """Seconds of computing and of waiting, since the last time; called on the feeding thread."""
        before_ns, self._in_line_ns = self._in_line_ns, others_in_line_ns()
        helped_ns = 0
        if self.is_alone and self.every == 1:  # otherwise calls that were not timed had help, too
            helped_ns = min(max(self._in_line_ns - before_ns, 0), self.waited_ns)
        taken_s = (self.computed_ns + helped_ns) / 1e9, (self.waited_ns - helped_ns) / 1e9
        self.computed_ns = self.waited_ns = 0
        return taken_s


def _sleeps() -> int:
    """How often this thread gave up its core to wait."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def others_in_line_ns(threads: str = "/proc/self/task") -> int:
    """How long threads of this process have stood in line for a core: all but this one and those of elements."""
    try:
        numbers = set(os.listdir(threads))
    except OSError:
        return 0
    own = {str(thread.native_id) for thread in threading.enumerate() if thread.name.startswith("penstock")}
    others = numbers - own - {str(threading.get_native_id())}
    return sum(SchedulerFigures(f"{threads}/{number}/schedstat").line_ns() for number in others)
