"""Processes below one of ours, to be killed by their ids."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

EXECUTOR = "CoarseGrainedExecutorBackend"
DAEMONS = ("tests.faults.daemon", "penstock.spark.worker_daemon")


def parents() -> dict[int, int]:
    """The parent of every process there is."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = path.read_text(errors="replace")
            found[int(path.parent.name)] = int(text[text.rindex(")") + 2 :].split()[1])
    return found


def below(root: int) -> list[int]:
    """All descendants of a process."""
    parent_of, found = parents(), [root]
    for pid in found:
        found.extend(child for child, parent in parent_of.items() if parent == pid)
    return found[1:]


def command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def executors(root: int) -> list[int]:
    """The executors' JVMs below a process."""
    return [pid for pid in below(root) if EXECUTOR in command(pid)]


def python_workers(root: int) -> list[int]:
    """Python workers below a process: the children of Spark's daemons, which the JVM's command line names, too."""
    parent_of, own = parents(), below(root)
    lines = {pid: command(pid) for pid in own}
    python = {pid: line for pid, line in lines.items() if "org.apache" not in line}
    daemons = {pid for pid, line in python.items() if any(name in line for name in DAEMONS)}
    return [pid for pid in own if pid in daemons and parent_of.get(pid) in daemons]


def kill(pid: int) -> bool:
    """Kills a process; False where it was gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
