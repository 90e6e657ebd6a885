"""A checkpoint for a run that nobody goes on with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_checkpoint() -> Iterator[Path]:
    """A new checkpoint's directory, which is removed at the end, or by the next start where this process is killed."""
    from penstock.host.directories import scratch_folder

    folder = scratch_folder()
    try:
        yield Path(folder.path)
    finally:
        folder.remove()
