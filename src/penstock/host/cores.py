"""The cores that this process may use: those it may run on, and no more than its container's quota of CPU time."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def own_cores() -> int:
    """At least one; a part of a core is none, so that as many threads as there are cores never exceed the quota."""
    return max(1, math.floor(min(len(os.sched_getaffinity(0)), quota_cores())))


def quota_cores(groups: Path = _GROUPS, own: Path = _OWN_GROUPS) -> float:
    """The least quota of the control groups that this process is in, in cores; infinite where there is none."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return math.inf
    least = math.inf
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mounts, read = (groups, groups / "unified"), _unified_quota
        elif "cpu" in controllers.split(","):
            mounts, read = (groups / "cpu", groups / controllers), _legacy_quota
        else:
            continue
        least = min([least, *(read(folder) for mount in mounts for folder in _upwards(mount, path))])
    return least


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    """A group's folder and those above it; inside a container its own group is often the mount itself."""
    folder = mount / path.strip("/")
    yield folder
    while folder != mount and mount in folder.parents:
        folder = folder.parent
        yield folder


def _unified_quota(folder: Path) -> float:
    quota, _, period = _text(folder / "cpu.max").partition(" ")
    return _cores(quota, period)


def _legacy_quota(folder: Path) -> float:
    return _cores(_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us"))


def _cores(quota: str, period: str) -> float:
    """`max` or -1 stand for none, as does whatever is no number."""
    try:
        return float(quota) / float(period) if float(quota) > 0 else math.inf
    except (ValueError, ZeroDivisionError):
        return math.inf


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
