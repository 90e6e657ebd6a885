"""Large payloads go from task to task of one host through files; Spark carries the names of the files.

The JVM copies a payload some ten times on its way from one Python worker to the next.  On a local master all tasks see
one folder, in memory where Spark's own shuffle files are: a task writes there, and its readers map what it wrote.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from penstock.errors import file_error
from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message

PROPERTY = "penstock.exchange"  # by which a task is told the folder of its micro-batch
LARGE_BYTES = 1 << 15
_AWAY = "@"  # behind the kind of a message whose payload is the name of a file


class HostExchange:
    """The files of one task, which the driver deletes with their folder once all tasks of the micro-batch are done.

    Each payload has its own: what an operator keeps of one holds on to the memory of no other.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._folder, self._name, self._count, self._is_full = Path(folder), name, 0, False

    def outward(self, messages: Iterable[Message]) -> Iterator[Message]:
        """The messages of a task; large payloads for other elements are in files, and their messages name these."""
        for m in messages:
            is_away = m.element != message.RESULT and not m.kind.endswith(_AWAY) and len(m.payload) >= LARGE_BYTES
            yield self._put(m) if is_away and not self._is_full else m

    def _put(self, m: Message) -> Message:
        self._count += 1
        name = f"{self._name}-{self._count}"
        try:
            descriptor = os.open(self._folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            try:
                left = memoryview(m.payload).cast("B")
                while left:
                    left = left[os.write(descriptor, left) :]
            finally:
                os.close(descriptor)
        except OSError:  # a full disk, or the batch is over and its folder gone: Spark carries it
            self._is_full = True
            return m
        return replace(m, kind=m.kind + _AWAY, payload=name.encode())


def arrived(messages: Iterable[Message], element: int, folder: str | None) -> Iterator[Message]:
    """The messages that came to a task of an element, its own payloads read; those for other elements unchanged."""
    for m in messages:
        if m.element != element or not m.kind.endswith(_AWAY):
            yield m
            continue
        if folder is None:
            raise ValueError(f"a payload for element {element} is in a file, and its task was told no folder")
        path = os.path.join(folder, bytes(memoryview(m.payload)).decode())
        try:
            with pa.memory_map(path) as file:
                payload = file.read_buffer()
        except OSError as error:
            raise file_error("reading tuples from", path, error) from error
        yield replace(m, kind=m.kind.removesuffix(_AWAY), payload=payload)
