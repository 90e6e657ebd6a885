"""The one driver of a checkpoint at a time, and the number that tells its tasks from those of the drivers before it."""

from __future__ import annotations

import fcntl
import os
import socket

from penstock.errors import StateError, file_error


class Lease:
    """Exclusive use of a checkpoint until `release`, or until the process ends; `epoch` is higher than any before."""

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, "lease")
        try:
            os.makedirs(directory, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise file_error("opening the checkpoint's lease", self.path, error) from error
        text = os.pread(self._descriptor, 200, 0).decode(errors="replace").split()
        try:
            # Belongs to the open file: another query of this process is kept out as well.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._descriptor)
            who = f"process {text[1]} on {text[2]}" if len(text) == 3 else "another process"
            raise StateError(
                f"the checkpoint '{directory}' is in use by {who}; stop it or take another checkpoint"
            ) from error
        text = os.pread(self._descriptor, 200, 0).decode(errors="replace").split()
        self.epoch = int(text[0]) + 1 if text else 1
        self._write(f"{self.epoch} {os.getpid()} {socket.gethostname()}\n".encode())

    def release(self) -> None:
        """Lets others have the checkpoint; the second time, nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _write(self, line: bytes) -> None:
        """Padded to one length, so that no mixture of two lines is ever read."""
        try:
            os.pwrite(self._descriptor, line.ljust(200), 0)
            os.fsync(self._descriptor)
        except OSError as error:
            raise file_error("writing the checkpoint's lease", self.path, error) from error
