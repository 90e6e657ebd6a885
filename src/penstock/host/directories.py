"""Directories of this user on this host: caches, temporary files, scratch folders that end with their process."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

from penstock.errors import StateError
from penstock.host.owned_folder import OwnedFolder, new_folder, sweep

_SCRATCH = "scratch"
_NUMBA_CACHE = "NUMBA_CACHE_DIR"


def cache_directory() -> Path:
    """Where generated kernels live: $PENSTOCK_CACHE, else the user's cache directory.

    A user id without a home directory (in a container, say) has one among the temporary files.
    """
    chosen = os.environ.get("PENSTOCK_CACHE")
    if chosen:
        return Path(chosen)
    given = os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given, "penstock")
    try:
        return Path.home() / ".cache" / "penstock"
    except RuntimeError:  # neither $HOME nor an entry in the user database
        return Path(temporary_directory(), "cache")


def use_numba_cache() -> None:
    """Has numba keep compiled kernels among the temporary files where it could not write to the user's cache.

    It refuses to import functions otherwise.  For a package whose own folder cannot be written to.
    """
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.environ.get(_NUMBA_CACHE) or (os.path.isabs(user) and _can_be_made(user)):
        return
    with contextlib.suppress(OSError, StateError):
        os.environ[_NUMBA_CACHE] = os.path.join(temporary_directory(), "numba")  # its processes have it, too
        config = sys.modules.get("numba.core.config")
        if config is not None:  # it was imported before, without it
            config.CACHE_DIR = os.environ[_NUMBA_CACHE]  # type: ignore[attr-defined]


def _can_be_made(path: str) -> bool:
    """Whether this user may write to a folder, or make it."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)


def temporary_directory() -> str:
    """This user's own directory among the machine's temporary files."""
    return private_directory(user_directory(tempfile.gettempdir()))


def private_directory(path: str) -> str:
    """A directory that nobody else can write to, made where it is not there; another user's is refused."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    found = os.stat(path)
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise StateError(f"the directory '{path}' can be written to by others than its user; remove it, or have its "
                         "owner do so")  # fmt: skip
    return path


def user_directory(root: str) -> str:
    """This user's own directory in a directory that all users share."""
    return os.path.join(root, f"penstock-{os.getuid()}")


def scratch_folder() -> OwnedFolder:
    """A new temporary folder that ends with this process: where that is killed, the next `sweep_scratch` removes it."""
    return new_folder(os.path.join(temporary_directory(), _SCRATCH))


def sweep_scratch() -> list[str]:
    """Removes the scratch folders of processes that are gone."""
    return sweep(os.path.join(user_directory(tempfile.gettempdir()), _SCRATCH), "[0-9a-f]{12}")
