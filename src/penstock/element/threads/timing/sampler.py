"""The sampler: looks every few milliseconds at what each thread is doing, and counts (MULTILEVEL, section 3)."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Mapping

import numpy as np

from penstock.element.threads.thread_slot import ThreadSlot
from penstock.kernels.gil_probe import CPU, HELD, SINCE, WORDS, sleep_then_stamp

PERIOD_S = 0.02
_BUDGET = 0.001  # of a core; a look costs 20 to 100 microseconds of CPU, most of it to wake up
_FREE_LOOKS = 100  # at first: by then it is known who works, and who holds the GIL
_LATE = 0.9  # of the switch interval, 5 ms, after which whoever holds the GIL has to give it up
_FREE_NS = 100_000  # a free GIL is taken within 20 to 50 microseconds, measured beside kernels
_LOOKS, _NEWEST, _MOST_TAKEN = 20, 3, 3  # a GIL that is taken for half of the time passes for free once in 1,200
_ENOUGH = 5
_HARDLY = 0.1  # of a wait: to get the GIL and give it up at once takes microseconds
_LONGEST_US = 1_000_000


class Sampler(threading.Thread):
    """How often a thread was seen in each operator: its relative cost. Sleeps while the element has no input.

    The sampler needs the GIL to look. If it had to wait for it while all busy threads were in one operator, that
    operator holds the GIL: no other thread can compute in the meantime, so a second one would gain nothing. Some waits
    say nothing: one that ended before the switch interval, as the one that held the GIL went on to an operator that
    gave it up, and that one would be seen; and one during which the caller of the feeding thread, `feeder`, was on a
    core. Only a wait of microseconds speaks for an operator: of one whose calls hold the GIL for 4 ms each, every
    fourth wait ends within 1 ms, between two calls. Cores taken by other processes do not disturb this, as a free GIL
    is taken without giving up the core.
    """

    def __init__(
        self, thread_slots: Mapping[int, ThreadSlot], period_s: float = PERIOD_S, feeder: ThreadSlot | None = None
    ) -> None:
        super().__init__(name="penstock-sampler", daemon=True)
        self._thread_slots, self._period_us, self._feeder = thread_slots, round(period_s * 1e6), feeder or ThreadSlot()
        self._has_input, self._ends, self._is_paused = threading.Event(), False, False
        self.thread_slot = ThreadSlot()
        self.counts: dict[str, float] = {}
        self.late: dict[str, int] = {}
        self.prompt: dict[str, int] = {}
        self._taken: tuple[bool, ...] = ()
        self._late_ns = _LATE * sys.getswitchinterval() * 1e9
        self._moment = np.zeros(WORDS, np.int64)
        self._moment[SINCE] = time.perf_counter_ns()
        sleep_then_stamp(0, np.zeros(WORDS, np.int64), 0)  # compiled now: looks would be missed meanwhile

    def resume(self) -> None:
        if self._is_paused:
            self._moment[SINCE] = time.perf_counter_ns()  # to wake up it needs the GIL
            self._is_paused = False
        self._has_input.set()

    def pause(self) -> None:
        if not self._ends:
            self._has_input.clear()

    def end(self) -> None:
        self._ends = True
        self._has_input.set()

    def run(self) -> None:
        self.thread_slot.take()
        looks, begin_s = 0, time.thread_time()
        while not self._ends:
            spent_us = (time.thread_time() - begin_s) * 1e6 / looks if looks >= _FREE_LOOKS else 0.0
            pause_us = min(max(self._period_us, int(spent_us / _BUDGET)), _LONGEST_US)
            clock = self._feeder.clock
            woken_ns = sleep_then_stamp(pause_us, self._moment, clock or 0)
            waited_ns = time.perf_counter_ns() - woken_ns
            self.sample(waited_ns, self._caller_ns(clock))
            if not self._has_input.is_set():
                self._moment[HELD], self._moment[SINCE] = self.held_ns, 0
                self._is_paused = True
                self._has_input.wait()
            looks += 1

    def _caller_ns(self, clock: int | None) -> int:
        """CPU time of the feeding thread since this one woke up, unless that is in an operator."""
        if clock is None or self._feeder.stage is not None:
            return 0
        with contextlib.suppress(OSError):  # it may have ended
            return time.clock_gettime_ns(clock) - int(self._moment[CPU])
        return 0

    @property
    def held_ns(self) -> int:
        """How long the sampler may have had the GIL so far; asked by a thread that has it."""
        held_ns, since_ns = int(self._moment[HELD]), int(self._moment[SINCE])
        return held_ns + (time.perf_counter_ns() - since_ns if since_ns else 0)

    def sample(self, waited_ns: int, caller_ns: int = 0) -> None:
        """One look at all threads, after so long a wait for the GIL, while a caller was on a core for `caller_ns`."""
        slots = list(self._thread_slots.values())
        seen = [slot.stage.operator.name for slot in slots if slot.stage is not None]
        for name in seen:
            self.counts[name] = self.counts.get(name, 0.0) + 1.0
        operators = set(seen)
        if seen:
            self._taken = (*self._taken[1 - _LOOKS :], waited_ns > _FREE_NS)
        if waited_ns < min(_FREE_NS, self._late_ns):
            for name in operators:
                self.prompt[name] = self.prompt.get(name, 0) + 1
        elif waited_ns >= self._late_ns and len(operators) == 1 and caller_ns < _HARDLY * waited_ns:
            self.late[seen[0]] = self.late.get(seen[0], 0) + 1

    @property
    def gil_is_free(self) -> bool:
        """Whether the newest looks, while threads were in operators, hardly ever found the GIL taken."""
        taken = self._taken
        return len(taken) == _LOOKS and sum(taken) <= _MOST_TAKEN and not any(taken[-_NEWEST:])

    def holds_gil(self) -> frozenset[str]:
        """Operators in which threads were late more often than not."""
        late = list(self.late.items())
        return frozenset(name for name, count in late if count >= _ENOUGH and count > self.prompt.get(name, 0))
