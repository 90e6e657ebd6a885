"""Calls of operators, told apart into computing and waiting."""

from __future__ import annotations

import os
import time
from collections.abc import Container, Sequence

from penstock.element.block import Block
from penstock.element.position import Frontier
from penstock.element.threads.calls import TimedCalls
from penstock.element.threads.stage import ThreadedStage


class WaitingCalls(TimedCalls):
    """Notes for the calls that are timed how long they waited: neither on a core nor in the queue for one."""

    def __init__(self, every: int) -> None:
        super().__init__(every)
        self.waited_ns: dict[str, list[int]] = {}

    def call(self, stage: ThreadedStage, inputs: Sequence[Block], frontier: Frontier) -> tuple[Block, ...]:
        begin = time.perf_counter_ns(), time.thread_time_ns(), core_wait_ns()
        outputs = stage.process(inputs, frontier)
        elapsed_ns, cpu_ns = time.perf_counter_ns() - begin[0], time.thread_time_ns() - begin[1]
        waited_ns = max(elapsed_ns - cpu_ns - (core_wait_ns() - begin[2]), 0)
        name = stage.operator.name
        self.cpu_ns[name] = self.cpu_ns.get(name, 0) + cpu_ns
        self.waited_ns.setdefault(name, []).append(waited_ns)
        return outputs

    def take(self, gil_wait_s: float = 0.0, holds_gil: Container[str] = ()) -> tuple[float, float]:
        """Seconds on a core and of waiting, since the last time.

        Of each call's waiting one wait for the GIL is left out, and all of it where the operator holds the GIL.
        """
        cpu_ns, self.cpu_ns = self.cpu_ns, {}
        waited_ns, self.waited_ns = self.waited_ns, {}
        own = [ns / 1e9 for name, calls in waited_ns.items() if name not in holds_gil for ns in calls]
        return sum(cpu_ns.values()) / 1e9, sum(max(waited_s - gil_wait_s, 0.0) for waited_s in own)


def core_wait_ns(path: str = "/proc/thread-self/schedstat") -> int:
    """How long this thread has stood in the queue for a core; 0 where the system does not say."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return 0
    try:
        return int(os.read(file, 64).split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    finally:
        os.close(file)
