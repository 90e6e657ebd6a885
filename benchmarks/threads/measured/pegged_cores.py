"""Pegged cores: the external load of other applications on the machine (ELASTIC, Figure 6)."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from signal import SIGCONT, SIGSTOP

# Spins until its parent is gone, so that a bench that dies leaves no load behind.
_SPIN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


@dataclass(frozen=True, slots=True)
class Phase:
    """So many cores are taken from this second on."""

    from_s: float
    cores: int


class PeggedCores:
    """Takes whole cores and gives them back; processes that are not needed are stopped, not ended."""

    def __init__(self) -> None:
        self._spinning: list[subprocess.Popen[bytes]] = []
        self.cores = 0

    def set(self, cores: int) -> None:
        """Pegs so many cores from now on."""
        while len(self._spinning) < cores:
            self._spinning.append(subprocess.Popen([sys.executable, "-I", "-S", "-c", _SPIN]))
        for number, process in enumerate(self._spinning):
            process.send_signal(SIGCONT if number < cores else SIGSTOP)
        self.cores = cores

    def run(self, phases: Sequence[Phase], until_s: float) -> None:
        """Follows a schedule."""
        begin_s = time.monotonic()
        for phase in sorted(phases, key=lambda phase: phase.from_s):
            time.sleep(max(0.0, begin_s + phase.from_s - time.monotonic()))
            self.set(phase.cores)
        time.sleep(max(0.0, begin_s + until_s - time.monotonic()))

    def __enter__(self) -> PeggedCores:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._spinning:
            process.kill()
            process.wait()
        self._spinning.clear()


def phases_of(text: str) -> list[Phase]:
    """The phases of a text.

    >>> phases_of("0:0,10:2")
    [Phase(from_s=0.0, cores=0), Phase(from_s=10.0, cores=2)]
    """
    parts = [part.split(":") for part in text.split(",")]
    return [Phase(float(from_s), int(cores)) for from_s, cores in parts]


if __name__ == "__main__":  # python -m benchmarks.threads.measured.pegged_cores 0:0,10:2,20:0 30
    with PeggedCores() as load:
        load.run(phases_of(sys.argv[1]), float(sys.argv[2]))
