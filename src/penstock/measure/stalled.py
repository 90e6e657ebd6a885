"""How long a thread could have run and had no core, as Linux counts it."""

from __future__ import annotations

from pathlib import Path

_SCHEDULER = Path("/proc/thread-self/schedstat")


def stalled_s(path: Path = _SCHEDULER) -> float:
    """Seconds since this thread began; 0 where the kernel does not say."""
    try:
        return int(path.read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
