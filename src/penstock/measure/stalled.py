"""How long a thread could have run and had no core, as Linux counts it."""

from __future__ import annotations

from pathlib import Path

from penstock.element.threads.waiting_calls import core_wait_ns

_SCHEDULER = Path("/proc/thread-self/schedstat")


def stalled_s(path: Path = _SCHEDULER) -> float:
    """Seconds since this thread began; 0 where the kernel does not say."""
    return core_wait_ns(str(path)) / 1e9
