"""A checkpoint for a run that nobody goes on with."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_checkpoint() -> Iterator[Path]:
    """A new checkpoint's directory; it and its state on this host are removed at the end."""
    from penstock.host.directories import remove_host_state
    from penstock.state.checkpoint.checkpoint import Checkpoint

    directory = Path(tempfile.mkdtemp(prefix="penstock-demo-"))
    try:
        yield directory
    finally:
        if (directory / "application").is_file():
            remove_host_state(Checkpoint(directory).fixed().checkpoint_id)
        shutil.rmtree(directory, ignore_errors=True)
