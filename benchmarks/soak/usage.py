"""What an application takes: memory of its processes, the JVM's live objects, bytes on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MB = 1e6


@dataclass(frozen=True, slots=True)
class Usage:
    """One look.  `python_mb`: memory of the driver and the workers, what they share counted once.

    `jvm_mb`: the JVM's objects after a garbage collection, its classes and compiled code; `jvm_resident_mb`: what the
    JVM has of the machine, which its heap fills up to its limit.  `disk_mb`: all but the sinks' files and the journal.
    """

    at_s: float
    python_mb: float
    jvm_mb: float
    jvm_resident_mb: float
    disk_mb: float
    journal_mb: float
    files: int

    @property
    def memory_mb(self) -> float:
        return self.python_mb + self.jvm_mb


def usage(at_s: float, session: Any, folder: Path, out: Path) -> Usage:
    """What is taken now; `folder` has everything that is written, `out` the sinks' files."""
    python_mb = resident_mb = 0.0
    for pid in (os.getpid(), *below(os.getpid())):
        memory, name = _memory(pid)
        if name == "java":
            resident_mb += memory.get("Rss", 0.0)
        else:
            python_mb += memory.get("Pss", 0.0)
    sizes = dict(files_below(folder, out))
    journal = sum(size for path, size in sizes.items() if path.name.startswith("journal."))
    disk_mb = (sum(sizes.values()) - journal) / _MB
    return Usage(at_s, python_mb, _live_mb(session), resident_mb, disk_mb, journal / _MB, len(sizes))


def below(pid: int) -> list[int]:
    """All processes that a process has started, and theirs."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in task.read_text().split()]
        except OSError:  # it has ended
            continue
        for child in children:
            found += [child, *below(child)]
    return found


def _memory(pid: int) -> tuple[dict[str, float], str]:
    """Megabytes by kind, and the program's name; nothing of a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return {}, ""
    parts = (line.replace(":", "").split() for line in lines)
    return {name: float(kilobytes) * 1024 / _MB for name, kilobytes, *_ in parts}, program


def _live_mb(session: Any) -> float:
    java = session._jvm.java.lang
    java.System.gc()
    bean = java.management.ManagementFactory.getMemoryMXBean()
    return float(bean.getHeapMemoryUsage().getUsed() + bean.getNonHeapMemoryUsage().getUsed()) / _MB


def files_below(folder: Path, but: Path) -> Iterator[tuple[Path, int]]:
    """All files with the bytes that they take on disk, but those of one folder."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if Path(place, name) != but]
        for name in names:
            path = Path(place, name)
            try:
                yield path, path.stat().st_blocks * 512
            except OSError:  # gone meanwhile
                continue
