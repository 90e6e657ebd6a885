"""Commands that others have left in the checkpoint, taken in their order, each once."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

FOLDER = "commands"
EVERY_S = 0.25
_LONGEST_BYTES = 1 << 20


def command_name(now_s: float) -> str:
    """The id of a command; ids ascend with the time."""
    return f"{int(now_s * 1e6):017d}-{os.getpid()}-{os.urandom(2).hex()}"


class CommandFiles:
    """Looked at between micro-batches; costs a `stat` each time, and no more than a few a second."""

    def __init__(self, checkpoint: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._clock = checkpoint / FOLDER, clock
        self._looked_at_s = -EVERY_S
        self.forget()

    def forget(self) -> None:
        """Deletes what was meant for drivers before this one."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                path.unlink(missing_ok=True)

    def taken(self) -> list[tuple[str, Mapping[str, Any] | None]]:
        """The id and body of each command that was left since the last time; None where it cannot be read."""
        now_s = self._clock()
        if now_s - self._looked_at_s < EVERY_S:
            return []
        self._looked_at_s = now_s
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(".json"))
        except OSError:
            return []
        return [(name.removesuffix(".json"), self._take(self._folder / name)) for name in names]

    def _take(self, path: Path) -> Mapping[str, Any] | None:
        try:
            with path.open("rb") as file:
                body = json.loads(file.read(_LONGEST_BYTES))
            command = body["command"]
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            command = None
        with contextlib.suppress(OSError):
            path.unlink()
        return command if isinstance(command, dict) else None
