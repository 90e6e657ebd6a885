"""One lock per slot, held by a task's process for the whole task and gone with the process.

They are byte-range locks of one file: a byte per slot, and one behind them for whoever reserves memory.  Such locks
belong to the process, not to whoever asked, and closing any descriptor of the file drops them all: so there is one
descriptor per file and process.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from penstock.errors import StaleAttemptError, StateError
from penstock.host.process import Process
from penstock.state.extents import Integers
from penstock.state.memory.header import Field, Header
from penstock.state.token import Token

_ALLOCATION_BYTE = 1 << 40
_FLOCK = "hhqqi4x"
_WAIT_S = 0.001

_descriptors: dict[tuple[int, int], int] = {}


class SlotLocks:
    """The locks of one operator on one host."""

    def __init__(self, path: str, patience_s: float = 30.0) -> None:
        self.path, self.patience_s = path, patience_s
        self._descriptor = _opened(path)

    def is_same_file(self) -> bool:
        """Whether the path still leads to the file that is locked here."""
        try:
            found, own = os.stat(self.path), os.fstat(self._descriptor)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)

    def take(self, slots: Integers, header: Header, token: Token) -> None:
        """Locks ascending slots; ends the processes of older attempts that hold some of them.

        An attempt that is itself the older one gets a StaleAttemptError and holds nothing.
        """
        taken: list[tuple[int, int]] = []
        try:
            for start, stop in runs_of(slots):
                self._take_run(start, stop, header, token)
                taken.append((start, stop))
        except BaseException:
            for start, stop in taken:
                self._unlock(start, stop)
            raise

    def take_free(self, slots: Integers) -> Integers:
        """Locks those of the slots that nobody holds, and gives them."""
        taken: Integers = np.array([slot for slot in slots.tolist() if self._try(slot, slot + 1)], np.int64)
        return taken

    def release(self, slots: Integers) -> None:
        for start, stop in runs_of(slots):
            self._unlock(start, stop)

    @contextmanager
    def allocation(self) -> Iterator[None]:
        """Held for the moment in which shared memory is handed out."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX, 1, _ALLOCATION_BYTE)
        try:
            yield
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, _ALLOCATION_BYTE)

    def _take_run(self, start: int, stop: int, header: Header, token: Token) -> None:
        deadline = time.monotonic() + self.patience_s
        while not self._try(start, stop):
            pid = self._holder(start, stop)
            if pid is not None:
                self._overtake(pid, start, stop, header, token)
            if time.monotonic() > deadline:
                who = f"process {pid}" if pid else "a process outside this container"
                raise StateError(f"slots {start}-{stop - 1} were held by {who} for {self.patience_s:g} s; end it")
            time.sleep(_WAIT_S)

    def _overtake(self, pid: int, first: int, stop: int, header: Header, token: Token) -> None:
        """Ends the process that holds one of these slots, unless it has not said yet who it is, or is the newer one.

        What another process of the same number has left here before it was killed says nothing.
        """
        fields = header.fields
        marked = first + np.flatnonzero(fields[Field.HOLDER_PID, first:stop] == pid)
        held = [slot for slot in marked if Process(pid, int(fields[Field.HOLDER_START, slot])).is_alive()]
        if not held:
            return
        start, epoch, attempt = (int(w) for w in fields[Field.HOLDER_START : Field.HOLDER_ATTEMPT + 1, held[0]])
        if (epoch, attempt) >= token.rank:
            raise StaleAttemptError(f"{token} came too late: attempt {attempt} of epoch {epoch} holds its slots")
        try:
            Process(pid, start).end()
        except PermissionError as error:
            raise StateError(f"process {pid} holds slots and belongs to another user; end it") from error

    def _try(self, start: int, stop: int) -> bool:
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, stop - start, start)
        except BlockingIOError:
            return False
        return True

    def _unlock(self, start: int, stop: int) -> None:
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, stop - start, start)

    def _holder(self, start: int, stop: int) -> int | None:
        """The process that holds any lock in the range; 0 is one that this container cannot see."""
        wanted = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, start, stop - start, 0)
        kind, _, _, _, pid = struct.unpack(_FLOCK, fcntl.fcntl(self._descriptor, fcntl.F_GETLK, wanted))
        return None if kind == fcntl.F_UNLCK else pid


def runs_of(slots: Integers) -> list[tuple[int, int]]:
    """Ascending slots as ranges."""
    if not len(slots):
        return []
    edges = [0, *(np.flatnonzero(np.diff(slots) != 1) + 1).tolist(), len(slots)]
    return [(int(slots[first]), int(slots[stop - 1]) + 1) for first, stop in itertools.pairwise(edges)]


def close_removed() -> None:
    """Closes the descriptors of files that are gone, so that a process that outlives many checkpoints keeps none."""
    for place, descriptor in list(_descriptors.items()):
        if os.fstat(descriptor).st_nlink == 0:
            del _descriptors[place]
            os.close(descriptor)


def _opened(path: str) -> int:
    """The process's one descriptor of the file."""
    try:
        found = os.stat(path)
        known = _descriptors.get((found.st_dev, found.st_ino))
    except FileNotFoundError:
        known = None
    if known is None:
        known = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        found = os.fstat(known)
        _descriptors[found.st_dev, found.st_ino] = known
    return known
