"""A scheduler thread: takes blocks from the schedule while its number is below the thread level."""

from __future__ import annotations

import threading

from penstock.element.threads.runtime import Runtime
from penstock.element.threads.thread_slot import ThreadSlot


class SchedulerThread(threading.Thread):
    """Created once, then suspended and woken as the level goes; it ends only with the element."""

    def __init__(self, runtime: Runtime, number: int) -> None:
        super().__init__(name=f"penstock-{number}", daemon=True)
        self._runtime, self._number = runtime, number
        self.thread_slot = ThreadSlot()

    def run(self) -> None:
        runtime = self._runtime
        self.thread_slot.take()
        with runtime.lock:
            runtime.thread_slots[threading.get_ident()] = self.thread_slot
        while True:
            with runtime.lock:
                if not self._wait_for_work():
                    return
                stage, step = runtime.take()
            runtime.run(self.thread_slot, [stage], step)

    def _wait_for_work(self) -> bool:
        """Waits, the lock held, until there is something to do; gives whether the thread goes on."""
        runtime = self._runtime
        while not runtime.is_closed:
            if self._number >= runtime.level:
                runtime.awake.wait()
            elif len(runtime.schedule):
                return True
            else:
                runtime.idle += 1
                runtime.work.wait()
                runtime.idle -= 1
        return False
