"""Processes by pid and start time: a pid alone may by now be another process's."""

from __future__ import annotations

import functools
import os
import signal
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Process:
    """One process of this host, for the time since it booted."""

    pid: int
    start_ticks: int

    def is_alive(self) -> bool:
        return _start_ticks(self.pid) == self.start_ticks

    def end(self) -> None:
        """Kills the process if it is still the same one; a process that is gone is fine."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            # The handle pins the process, so what the check sees is what the signal meets.
            if self.is_alive():
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)


def this_process() -> Process:
    """The calling process; right after a fork, too."""
    return _process(os.getpid())


@functools.lru_cache(maxsize=1)
def _process(pid: int) -> Process:
    return Process(pid, _start_ticks(pid) or 0)


def boot_id() -> str:
    """Differs after each start of the machine."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def _start_ticks(pid: int) -> int | None:
    """Clock ticks from boot to the process's start; None where it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    # Killed, but not yet buried by its parent: it runs no more.
    return None if fields[0] in "ZX" else int(fields[19])
