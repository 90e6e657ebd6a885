"""Folders that belong to living processes: each has a lock that its owners share, and a sweep removes those without.

The kernel drops a lock when its last holder dies, however it dies: so no pid, which may be another process's by now,
and no clock is asked.  Processes that the holder forks hold it, too; those that it executes do not.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
import uuid

LOCK = "lock"
_WITHOUT_LOCK_S = 24 * 3600.0


class OwnedFolder:
    """A folder that this process holds until `release`, or until the process ends."""

    def __init__(self, path: str) -> None:
        self.path, self._lock = path, _held(path)

    def is_there(self) -> bool:
        """Whether the path still leads to the folder that is held."""
        return _is_same(self._lock, os.path.join(self.path, LOCK))

    def release(self) -> None:
        """Lets a sweep have it; the second time, nothing."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)

    @property
    def is_shared(self) -> bool:
        """Whether another process holds it, too."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        return False

    def remove(self, but: str | None = None) -> None:
        """Deletes it, and what others keep in it; names that match a pattern stay for who else holds the folder."""
        if but is None:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            for entry in os.scandir(self.path):
                if entry.name == LOCK or re.fullmatch(but, entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
        self.release()


def new_folder(parent: str, prefix: str = "") -> OwnedFolder:
    """A folder of a new name that only this user can read."""
    return OwnedFolder(os.path.join(parent, f"{prefix}{uuid.uuid4().hex[:12]}"))


def sweep(parent: str, names: str) -> list[str]:
    """Removes this user's folders in `parent` whose names match a pattern and that no living process holds."""
    try:
        entries = [entry for entry in os.scandir(parent) if re.fullmatch(names, entry.name)]
    except OSError:
        return []
    return [entry.path for entry in entries if _is_own_folder(entry) and _removed(entry.path)]


def _held(path: str) -> int:
    """A shared lock of the folder, which is made where it is not there."""
    while True:
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
            lock = os.open(os.path.join(path, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except (FileNotFoundError, FileExistsError):
            if os.path.lexists(path) and not os.path.isdir(path):
                raise
            continue  # swept just now
        fcntl.flock(lock, fcntl.LOCK_SH)
        if _is_same(lock, os.path.join(path, LOCK)):
            return lock
        os.close(lock)


def _removed(path: str) -> bool:
    """Deletes a folder that nobody holds; who comes meanwhile waits for the lock, and finds that it is gone."""
    name = os.path.join(path, LOCK)
    try:
        # Without a lock it is being made, or an earlier version's, or was half swept when the sweeper died.
        if not os.path.lexists(name) and time.time() - os.stat(path).st_mtime < _WITHOUT_LOCK_S:
            return False
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid()
    except OSError:
        return False


def _is_same(lock: int, path: str) -> bool:
    try:
        own, found = os.fstat(lock), os.stat(path)
    except OSError:
        return False
    return (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino)
