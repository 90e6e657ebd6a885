"""Micro-batches that are committed and not in the journal yet, in a file: a kill loses none of them."""

from __future__ import annotations

import os
import pickle
import weakref
from pathlib import Path

from penstock.host.atomic_file import open_new
from penstock.measure.batch.measured_batch import MeasuredBatch, measured_batch
from penstock.plan.configuration import Configuration

Note = tuple[MeasuredBatch, Configuration]


class BatchNotes:
    """A file that is emptied whenever the journal has what is in it; a Configuration is written where it is new."""

    def __init__(self, path: Path) -> None:
        self._file = open_new(str(path), os.O_WRONLY | os.O_APPEND)
        weakref.finalize(self, os.close, self._file)
        self._configuration: Configuration | None = None
        self._is_empty = os.fstat(self._file).st_size == 0

    def add(self, note: Note) -> None:
        measured, configuration = note
        known = configuration is self._configuration
        data = memoryview(pickle.dumps((measured.plain, None if known else configuration), protocol=5))
        self._configuration, self._is_empty = configuration, False
        while data:
            data = data[os.write(self._file, data) :]

    def clear(self) -> None:
        if not self._is_empty:
            os.ftruncate(self._file, 0)
            self._configuration, self._is_empty = None, True


def read_notes(path: Path) -> list[Note]:
    """All whole notes of a file; the last one may have been cut short by a kill."""
    found: list[Note] = []
    if not path.exists():
        return found
    configuration: Configuration | None = None
    with path.open("rb") as file:
        while True:
            try:
                plain, own = pickle.load(file)
                measured = measured_batch(plain)
            except Exception:  # whatever a torn note or one of another version may raise: there is nothing behind it
                return found
            configuration = own or configuration
            assert configuration is not None
            found.append((measured, configuration))
