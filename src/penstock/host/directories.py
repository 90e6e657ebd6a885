"""Directories of this host: of state (on a cluster the executor's, else in memory if it fits), caches, drafts."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import StateError
from penstock.host.process import boot_id

_MEMORY = "/dev/shm"
# Set by Spark's standalone worker and by YARN: all executors of an application on a host have the same ones, and they
# are removed when the application ends.  Kubernetes has none; there a pod's memory and disk are its own.
_OF_EXECUTORS = ("SPARK_EXECUTOR_DIRS", "LOCAL_DIRS")
NEEDED_BYTES = 1 << 30


def host_directory(checkpoint_id: str, operator: str, root: str | None = None, needed_bytes: int = NEEDED_BYTES) -> str:
    """The directory of an operator's state on this host, for this start of the machine: after a power failure mapped
    files on disk may hold any mixture of old and new pages, so state from before it is never looked at.
    """
    root = root or _cluster_root(os.environ) or _default_root(needed_bytes)
    return os.path.join(private_directory(_own(root)), checkpoint_id, boot_id(), operator)


def cache_directory() -> Path:
    """Where generated kernels live: $PENSTOCK_CACHE, else the user's cache directory."""
    chosen = os.environ.get("PENSTOCK_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


def temporary_directory() -> str:
    """This user's own directory among the machine's temporary files."""
    return private_directory(_own(tempfile.gettempdir()))


def private_directory(path: str) -> str:
    """A directory that nobody else can write to, made where it is not there; another user's is refused."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    found = os.stat(path)
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise StateError(f"the directory '{path}' can be written to by others than its user; remove it, or have its "
                         "owner do so")  # fmt: skip
    return path


def remove_host_state(checkpoint_id: str) -> None:
    """Deletes what this host keeps of a checkpoint's state; whoever goes on with it rebuilds it from the logs."""
    for root in {_MEMORY, tempfile.gettempdir()}:
        shutil.rmtree(os.path.join(_own(root), checkpoint_id), ignore_errors=True)


def _own(root: str) -> str:
    return os.path.join(root, f"penstock-{os.getuid()}")


def _cluster_root(environment: Mapping[str, str]) -> str | None:
    """The first of the directories that the cluster gave this executor, None on a local master."""
    given = next((environment[name] for name in _OF_EXECUTORS if environment.get(name)), "")
    return re.split("[,:]", given)[0] or None


def _default_root(needed_bytes: int) -> str:
    try:
        space = os.statvfs(_MEMORY)
    except OSError:
        return tempfile.gettempdir()
    has_space = space.f_bavail * space.f_frsize >= needed_bytes and os.access(_MEMORY, os.W_OK)
    return _MEMORY if has_space else tempfile.gettempdir()
