"""How long a thread could have run and had no core, as Linux counts it."""

from __future__ import annotations

import ctypes
import os
import threading

THIS_THREAD = "/proc/thread-self/schedstat"
_LONGEST = 64
# That of `os` gives the GIL up, and stands in line for it with all other threads afterwards.
_pread = ctypes.PyDLL(None).pread
_pread.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_long)
_pread.restype = ctypes.c_ssize_t


def core_wait_ns(path: str = THIS_THREAD) -> int:
    """Since this thread began; 0 where the kernel does not say."""
    own = _by_thread.figures.get(path)
    if own is None or own.process != os.getpid():  # a worker that was forked has the file of its parent's thread
        own = _by_thread.figures[path] = SchedulerFigures(path)
    return own.line_ns()


def core_wait_s(path: str = THIS_THREAD) -> float:
    return core_wait_ns(path) / 1e9


def core_wait_of_threads_s(prefix: str) -> float:
    """Of all threads of this process whose names begin with that; some 10 us for each."""
    own = [thread.native_id for thread in threading.enumerate() if thread.name.startswith(prefix)]
    return sum(SchedulerFigures(f"/proc/self/task/{number}/schedstat").line_ns() for number in own) / 1e9


class SchedulerFigures:
    """An open file of a thread's figures: opening it anew takes five times as long as reading it."""

    def __init__(self, path: str) -> None:
        self.process = os.getpid()
        self._text = ctypes.create_string_buffer(_LONGEST)
        try:
            self._file: int | None = os.open(path, os.O_RDONLY)
        except OSError:
            self._file = None

    def line_ns(self) -> int:
        """How long the thread has stood in line for a core."""
        if self._file is None:
            return 0
        length = _pread(self._file, self._text, _LONGEST, 0)
        try:
            return int(self._text.raw[: max(length, 0)].split()[1])
        except (IndexError, ValueError):
            return 0

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)


class _ByThread(threading.local):
    def __init__(self) -> None:
        self.figures: dict[str, SchedulerFigures] = {}


_by_thread = _ByThread()
