"""Whether the driver of a checkpoint is alive, without touching its lock: asking for it could keep a driver out."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

_LATER_S = 10.0


def is_driven(checkpoint: Path) -> bool | None:
    """Whether the process that the lease names is alive; None where it is another host's, which cannot be seen."""
    lease = checkpoint / "lease"
    try:
        words = lease.read_bytes()[:200].decode(errors="replace").split()
        taken_at_s = lease.stat().st_mtime
    except OSError:
        return False
    if len(words) < 3 or not words[1].isdigit():
        return False
    if words[2] != socket.gethostname():
        return None
    return _is_alive(int(words[1]), taken_at_s)


def _is_alive(pid: int, since_s: float) -> bool:
    """Whether a process runs that has begun before a moment: pids are used again."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        uptime_s = float(Path("/proc/uptime").read_text().split()[0])
        began_s = time.time() - uptime_s + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return False
    return fields[0] not in ("Z", "X") and began_s <= since_s + _LATER_S
