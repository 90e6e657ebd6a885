"""What a worker found out about an `elastic_map`, for workers of its host that begin later."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import StateError
from penstock.host.directories import temporary_directory

_OLD_S = 3600.0  # after which the file of an `elastic_map` that has ended is removed


@dataclass(frozen=True, slots=True)
class LevelHint:
    """The level that was found, and the share of a call that computes; None where that is not known."""

    level: int = 1
    computing: float | None = None


def read_level_hint(path: Path | None) -> LevelHint:
    """The level that other workers found; 1 if none has."""
    try:
        found = json.loads(path.read_text()) if path is not None else {}
        computing = found.get("computing")
        return LevelHint(max(1, int(found.get("level", 1))), None if computing is None else float(computing))
    except (OSError, ValueError, TypeError, AttributeError):
        return LevelHint()


def write_level_hint(path: Path, hint: LevelHint) -> None:
    """A hint only: where it cannot be written, others begin with one call at a time."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _remove_old(path.parent)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({"level": hint.level, "computing": hint.computing}))
        draft.replace(path)


def known_level_path(identity: str) -> Path | None:
    """Where workers of a host tell each other; None where they have no directory of their own."""
    try:
        return Path(temporary_directory(), "elastic", f"{identity}.json")
    except (OSError, StateError):
        return None


def _remove_old(hints: Path) -> None:
    for hint in hints.iterdir():
        with contextlib.suppress(OSError):  # others remove them too
            if time.time() - hint.stat().st_mtime > _OLD_S:
                hint.unlink()
