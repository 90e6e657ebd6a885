"""What a task has for the driver beyond its share of the bytes that Spark may bring there, in a file of the checkpoint.

Spark fails a job whose results exceed `spark.driver.maxResultSize`, and it would fail the same way whenever the batch
runs again.  So a task sends results up to its share and writes the rest to a file, of which it sends the name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from penstock.errors import file_error
from penstock.host.atomic_file import open_new
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message, batch_of, messages_of


class ResultSpool:
    """The results of one task: the first `share_bytes` as they are, the others through a file of this name."""

    def __init__(self, folder: Path, name: str, share_bytes: int | None) -> None:
        self._folder, self._name, self._left_bytes = folder, name, share_bytes
        self._file: pa.NativeFile | None = None
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    def bounded(self, messages: Iterable[Message]) -> Iterator[Message]:
        """The messages of a task, those for other elements untouched."""
        if self._left_bytes is None:
            yield from messages
            return
        try:
            for m in messages:
                if m.element == message.RESULT and not self._fits(m):
                    self._write(m)
                else:
                    yield m
            if self._writer is not None:
                self._close()
                yield Message(0, message.RESULT, message.SPOOLED, self._name, 0, b"")
        finally:
            self._close()

    def _fits(self, m: Message) -> bool:
        """Once something went to the file, all goes there, so that each kind keeps its order."""
        assert self._left_bytes is not None
        self._left_bytes -= len(m.payload)
        return self._left_bytes >= 0 and self._writer is None

    def _write(self, m: Message) -> None:
        path = str(self._folder / self._name)
        try:
            if self._writer is None:
                os.close(open_new(path, os.O_WRONLY))
                self._file = pa.OSFile(path, "wb")
                self._writer = pa.ipc.new_stream(self._file, message.SCHEMA)
            self._writer.write_batch(batch_of([m]))
        except OSError as error:
            raise file_error("writing results to", path, error) from error

    def _close(self) -> None:
        writer, file, self._writer, self._file = self._writer, self._file, None, None
        try:
            if writer is not None:
                writer.close()
        finally:
            if file is not None:
                file.close()


def spooled(folder: Path, name: str) -> Iterator[Message]:
    """What a task wrote to its file; dead letters stay on the disk, where nobody needs all of them in memory."""
    with pa.memory_map(str(folder / name)) as file:
        for batch in pa.ipc.open_stream(file):
            for m in messages_of(batch):
                if m.kind == message.LETTERS:
                    yield m
                else:  # sinks may keep it when the file is gone
                    payload = pa.py_buffer(m.payload.to_pybytes())  # type: ignore[union-attr]
                    yield Message(m.replica, m.element, m.kind, m.name, m.sequence, payload)


def forget(folder: Path, names: Iterable[str]) -> None:
    """Deletes the files of a batch that was delivered."""
    for name in names:
        (folder / name).unlink(missing_ok=True)


def sweep(folder: Path, before: int) -> None:
    """Deletes what attempts that did not count left of batches before one."""
    for path in folder.glob("*-*"):
        if int(path.name.split("-", 1)[0]) < before:
            path.unlink(missing_ok=True)
