"""The one driver of a checkpoint at a time, and the number that tells its tasks from those of the drivers before it."""

from __future__ import annotations

import fcntl
import os
import socket
import uuid
from collections.abc import Callable

from penstock.errors import InputError, StateError, file_error
from penstock.host.atomic_file import make_folder, open_new, sync

_BYTES = 200


class Lease:
    """Exclusive use of a checkpoint until `release`, or until the process ends; `epoch` is higher than any before.

    The lock may be lost while the driver lives: on a file system in the network it expires.  So `check` is the fence of
    all that is published: it looks whether the lease is still this driver's.  `highest` gives the highest epoch that
    the checkpoint knows of; it is asked where the lease itself cannot be read.
    """

    def __init__(self, directory: str, highest: Callable[[], int] = lambda: 0) -> None:
        self.path, self._directory = os.path.join(directory, "lease"), directory
        if os.path.exists(directory) and not os.path.isdir(directory):
            raise InputError(f"a checkpoint is a directory; got the file '{directory}'; name another one")
        try:
            _make_private(directory)
            self._descriptor = open_new(self.path, os.O_RDWR)
        except OSError as error:
            raise file_error("opening the checkpoint's lease", self.path, error) from error
        try:
            # Belongs to the open file: another query of this process is kept out as well.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._descriptor)
            raise StateError(f"the checkpoint '{directory}' is in use by {_who(_words(self.path))}; stop it or take "
                             "another checkpoint") from error  # fmt: skip
        words = _words(self.path)
        self.epoch = (int(words[0]) if _is_line(words) else highest()) + 1
        line = f"{self.epoch} {os.getpid()} {socket.gethostname()} {uuid.uuid4().hex[:12]}\n"
        self._own = line.split()
        self._write(line.encode())

    def check(self) -> None:
        """StateError where another driver has taken the checkpoint: nothing that this one publishes may count."""
        if not self.is_held:
            raise StateError(
                f"the checkpoint '{self._directory}' was taken over by {_who(_words(self.path))} while this driver was "
                "at work: its lock was lost; this driver stops, and nothing more of it counts"
            )

    @property
    def is_held(self) -> bool:
        """Whether no other driver has taken the checkpoint since."""
        return _words(self.path) == self._own

    def release(self) -> None:
        """Lets others have the checkpoint; the second time, nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _write(self, line: bytes) -> None:
        """Padded to one length, so that no mixture of two lines is ever read."""
        try:
            os.pwrite(self._descriptor, line.ljust(_BYTES), 0)
            os.fsync(self._descriptor)
        except OSError as error:
            raise file_error("writing the checkpoint's lease", self.path, error) from error


def _make_private(directory: str) -> None:
    """Makes a checkpoint's directory, where it is not there: everything in it is as private as it is."""
    if not os.path.isdir(directory):
        above = os.path.dirname(os.path.abspath(directory))
        make_folder(above, durable=True)
        os.makedirs(directory, mode=0o700, exist_ok=True)
        sync(above)


def _words(path: str) -> list[str]:
    """What stands in a lease; read by its path, since the file of a driver that has taken over may be another one."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(_BYTES).decode(errors="replace").split()
    except FileNotFoundError:
        return []


def _is_line(words: list[str]) -> bool:
    return len(words) in (3, 4) and words[0].isascii() and words[0].isdigit()


def _who(words: list[str]) -> str:
    return f"process {words[1]} on {words[2]}" if _is_line(words) else "another process"
