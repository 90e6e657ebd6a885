"""A disk that takes no more bytes: files can be made, opened and cut off, and every write to one fails."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

REASON = "file too large"  # what Linux says at a limit of this process; at the end of a disk it says "no space left"


@contextmanager
def full_disk() -> Iterator[None]:
    """Has the kernel itself refuse to write, in whatever way a file is written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
