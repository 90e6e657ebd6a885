"""How many bytes a checkpoint takes, noted once a minute next to the micro-batches."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

EVERY_S = 60.0


class Events(Protocol):
    """Where sizes are noted: the history of a run."""

    def event(self, kind: str, body: Mapping[str, Any]) -> None: ...


class CheckpointSize:
    """Adds up files in a thread of its own: a checkpoint may have thousands, and no micro-batch waits for that."""

    def __init__(self, directory: Path, events: Events, clock: Callable[[], float] = time.monotonic) -> None:
        self._directory, self._events, self._clock = directory, events, clock
        self._looked_at_s: float | None = None
        self._thread: threading.Thread | None = None

    def look(self) -> None:
        """Begins to add up where a minute has passed and nobody is at it."""
        now_s = self._clock()
        if self._looked_at_s is not None and now_s - self._looked_at_s < EVERY_S:
            return
        if self._thread is not None and self._thread.is_alive():
            return
        self._looked_at_s = now_s
        self._thread = threading.Thread(target=self._note, name="penstock-checkpoint-size", daemon=True)
        self._thread.start()

    def _note(self) -> None:
        with contextlib.suppress(OSError):  # a full disk, or a run that has ended meanwhile
            self._events.event("checkpoint_bytes", {"bytes": folder_bytes(self._directory)})


def folder_bytes(directory: str | Path) -> int:
    """All files below a folder; those that vanish meanwhile count nothing."""
    total = 0
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    total += folder_bytes(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    return total
