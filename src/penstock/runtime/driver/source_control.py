"""What the reader of the source goes by, in a file of the checkpoint: how much to take, in how many tasks, and when."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

from penstock.host.atomic_file import write_whole
from penstock.plan.configuration import Configuration


class SourceControl:
    """Written by whoever applies a Configuration, by the batch at hand and by the copier, maybe at once.

    `configuration` gives the newest one.  A beat has a micro-batch run although no tuples may have come.  Beats grow
    over the lives of drivers, whatever their clocks say: the reader takes no lower one than it had.
    """

    def __init__(self, directory: Path, configuration: Callable[[], Configuration]) -> None:
        self._path, self._configuration, self._lock = directory / "intake", configuration, threading.Lock()
        self._beat = _last_beat(self._path)

    def beat(self) -> None:
        """Has a micro-batch run."""
        with self._lock:
            self._beat = max(self._beat + 1, int(time.time() * 1000))
        self.write()

    def write(self) -> None:
        """Tells the reader."""
        with self._lock:
            configuration = self._configuration()
            body = {
                "micro_batch_tuples": configuration.micro_batch_tuples,
                "block_rows": configuration.block_rows,
                "tasks": configuration.elements[0].replicas,
                "beat": self._beat,
            }
            write_whole("writing what the source may take in", str(self._path), json.dumps(body).encode())


def _last_beat(path: Path) -> int:
    """The one of the driver before."""
    try:
        return int(json.loads(path.read_bytes())["beat"])
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return 0
