"""Log files of one operator in the checkpoint: one per task attempt that changed anything, named after its token."""

from __future__ import annotations

import os
from types import TracebackType

import numpy as np

from penstock.errors import CorruptStateError, StateFileError, file_error
from penstock.host.atomic_file import open_new, sync
from penstock.state.checkpoint.checksum import Words, checksums
from penstock.state.checkpoint.entries import Entries, token_of
from penstock.state.token import Token

_MAGIC = 0x31474F4C4B545350
_HEAD_WORDS = 4
_SUFFIX = ".log"


class Logs:
    """The log files of one operator; `durable` ones are on the disk when they are written."""

    def __init__(self, directory: str, durable: bool = False) -> None:
        self.directory, self.durable = directory, durable
        self._buffer: Words = np.empty(0, np.int64)

    def path(self, token: Token) -> str:
        return os.path.join(self.directory, f"{token.batch:012d}-{token.epoch}-{token.attempt}{_SUFFIX}")

    def names(self) -> list[tuple[int, str]]:
        """(batch, path) of all files there are."""
        try:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            return []
        found = [name for name in names if name.endswith(_SUFFIX)]
        return [(int(name.split("-", 1)[0]), os.path.join(self.directory, name)) for name in found]

    def buffer(self, words: int) -> Words:
        """Room to put a file's words together, the same each time: fresh pages cost as much as filling them."""
        if len(self._buffer) < words:
            self._buffer = np.empty(words + words // 4, np.int64)
        return self._buffer[:words]

    def writer(self, token: Token) -> LogWriter:
        return LogWriter(self.path(token), token, self.durable)

    def read(self, entries: Entries) -> tuple[Words, Words]:
        """Words that cover some entries of one file, and where in them each entry begins; checks every one."""
        token = token_of(entries[0])
        path = self.path(token)
        start, stop = int(entries["offset"].min()), int((entries["offset"] + entries["length"]).max())
        try:
            with open(path, "rb", buffering=0) as file:
                file.seek(start)
                words = np.fromfile(file, np.int64, (stop - start) // 8)
        except OSError as error:
            raise file_error("reading the state log", path, error) from error
        if len(words) * 8 < stop - start:
            have = start + len(words) * 8
            raise CorruptStateError(
                f"the state log '{path}' is cut off: it has {have} bytes of {stop} that were written"
            )
        starts = (entries["offset"] - start) // 8
        found = checksums(words, starts, starts + entries["length"] // 8)
        wrong = np.flatnonzero(found != entries["checksum"])
        if len(wrong):
            slot = int(entries["slot"][wrong[0]])
            raise CorruptStateError(f"the state log '{path}' is not what was written: slot {slot} has another checksum")
        return words, starts


class LogWriter:
    """Writes one log file, from its first words to the last; what fails leaves no file behind."""

    def __init__(self, path: str, token: Token, durable: bool) -> None:
        self.path, self.durable, self.bytes = path, durable, 0
        try:
            self._descriptor = open_new(path, os.O_WRONLY | os.O_EXCL)
        except FileExistsError as error:
            raise StateFileError(f"the state log '{path}' exists: one attempt cannot write its slots twice") from error
        except OSError as error:
            raise file_error("writing the state log", path, error) from error
        self._head: Words | None = np.array([_MAGIC, token.epoch, token.batch, token.attempt], np.int64)
        self.bytes = 8 * _HEAD_WORDS

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None and self.durable:
                os.fsync(self._descriptor)
                sync(os.path.dirname(self.path))
        except OSError as failure:
            raise file_error("syncing the state log", self.path, failure) from failure
        finally:
            os.close(self._descriptor)
            if error is not None and os.path.exists(self.path):
                os.unlink(self.path)

    def write(self, words: Words) -> int:
        """Appends words and gives the offset in bytes at which they begin."""
        offset, pieces = self.bytes, [_bytes(words)]
        if self._head is not None:
            pieces.insert(0, _bytes(self._head))
            self._head = None
        try:
            self._write_all(pieces)
        except OSError as error:
            raise file_error("writing the state log", self.path, error) from error
        self.bytes += words.nbytes
        return offset

    def _write_all(self, pieces: list[memoryview]) -> None:
        while pieces:
            written = os.writev(self._descriptor, pieces)
            while pieces and written >= len(pieces[0]):
                written -= len(pieces.pop(0))
            if pieces:
                pieces[0] = pieces[0][written:]


def _bytes(words: Words) -> memoryview:
    return words.data.cast("B")
