"""Work that gives way to everything else on its machine."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LEAST_PRIORITY = 19  # as for nice(1)


def at_priority(function: Callable[[], T], niceness: int) -> T:
    """What `function` gives, run by a thread of that niceness: the caller keeps its own, and waits.

    Linux alone gives each thread a niceness of its own; elsewhere the caller does the work itself.
    """
    if sys.platform != "linux" or niceness == 0:
        return function()
    done: list[T] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
            done.append(function())
        except BaseException as error:  # raised again where it was called for
            failed.append(error)

    thread = threading.Thread(target=work, name="penstock-low-priority", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]
