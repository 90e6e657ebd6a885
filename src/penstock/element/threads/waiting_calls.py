"""Calls of operators, told apart into computing and waiting."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from penstock.element.block import Block
from penstock.element.position import Frontier
from penstock.element.threads.calls import TimedCalls
from penstock.element.threads.stage import ThreadedStage


class WaitingCalls(TimedCalls):
    """Notes for the calls that are timed how long they waited: neither on a core nor in the queue for one."""

    def __init__(self, every: int) -> None:
        super().__init__(every)
        self.waited_ns: dict[str, int] = {}

    def call(self, stage: ThreadedStage, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        begin = time.perf_counter_ns(), time.thread_time_ns(), core_wait_ns()
        outputs = stage.process(inputs, frontier)
        elapsed_ns, cpu_ns = time.perf_counter_ns() - begin[0], time.thread_time_ns() - begin[1]
        waited_ns = max(elapsed_ns - cpu_ns - (core_wait_ns() - begin[2]), 0)
        name = stage.operator.name
        self.cpu_ns[name] = self.cpu_ns.get(name, 0) + cpu_ns
        self.waited_ns[name] = self.waited_ns.get(name, 0) + waited_ns
        return outputs

    def take(self) -> tuple[dict[str, int], dict[str, int]]:
        """Nanoseconds on a core and of waiting by operator, since the last time."""
        cpu_ns, self.cpu_ns = self.cpu_ns, {}
        waited_ns, self.waited_ns = self.waited_ns, {}
        return cpu_ns, waited_ns


def core_wait_ns() -> int:
    """How long this thread has stood in the queue for a core; 0 where the system does not say."""
    try:
        file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    except OSError:
        return 0
    try:
        return int(os.read(file, 64).split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    finally:
        os.close(file)
