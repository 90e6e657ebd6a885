"""Where a host keeps the state of operators: in memory where there is room, else on disk; for as long as it is used.

    <root>/penstock-<user>/<checkpoint>/lock                  held by the driver and by every worker that uses it
    <root>/penstock-<user>/<checkpoint>/<boot>/<operator>/    mapped files

The root is the state directory that was asked for, what a cluster gave its executor, or /dev/shm.  Where it has no room
the same folders are made among the temporary files, and all workers of the host go on there: that the folder of this
boot is there says so.  Each place is to the other as one host is to another, so that slots are rebuilt from the logs.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import InputError, file_error
from penstock.host.directories import private_directory, user_directory
from penstock.host.owned_folder import OwnedFolder, sweep
from penstock.host.paths.file_names import file_name
from penstock.host.paths.local_path import local_path
from penstock.host.process import boot_id

STATE_DIRECTORY = "PENSTOCK_STATE_DIRECTORY"
MEMORY = "/dev/shm"
# Set by Spark's standalone worker and by YARN: all executors of an application on a host have the same ones, and they
# are removed when the application ends.  Kubernetes has none; there a pod's memory and disk are its own.
_OF_EXECUTORS = ("SPARK_EXECUTOR_DIRS", "LOCAL_DIRS")
NEEDED_BYTES = 1 << 30  # that are free in /dev/shm at the start; in a directory that was asked for, a few times LEAST
LEAST_BYTES = 64 << 20  # that stay free: a task that finds less moves to the disk before it takes more
_CHECKPOINT = "[0-9a-f]{16}"

_held: dict[str, OwnedFolder] = {}


@dataclass(frozen=True, slots=True)
class HostDirectory:
    """The directory of an operator's state on this host, and the one that takes its place where there is no room.

    It is of this start of the machine: after a power failure mapped files on disk may hold any mixture of old and new
    pages, so state from before it is never looked at.
    """

    own: str
    fallback: str | None = None

    @property
    def is_left(self) -> bool:
        """Whether all state of the checkpoint on this host is in the other place."""
        return self.fallback is not None and os.path.isdir(os.path.dirname(self.fallback))

    @property
    def path(self) -> str:
        return self.fallback if self.fallback is not None and self.is_left else self.own

    def leave(self) -> bool:
        """Has all workers of the host go on in the other place; False where there is none, or they are there."""
        if self.fallback is None or self.is_left:
            return False
        os.makedirs(os.path.dirname(self.fallback), mode=0o700, exist_ok=True)
        # Whoever works there now goes on in files without a name, and finds at its next task that they are gone.
        shutil.rmtree(os.path.dirname(self.own), ignore_errors=True)
        return True

    @property
    def warning(self) -> str | None:
        """The warning for state that is not in the requested directory."""
        if not self.is_left or self.fallback is None:
            return None
        root, place = (os.path.dirname(os.path.dirname(os.path.dirname(path))) for path in (self.own, self.fallback))
        return (f"'{os.path.dirname(root)}' has too little space: state by key is in '{place}' instead, which may "
                "be slower; free some space, or give another directory as state_directory "
                f"({STATE_DIRECTORY})")  # fmt: skip


def host_directory(
    checkpoint_id: str, operator: str, root: str | None = None, needed_bytes: int | None = None
) -> HostDirectory:
    """The directory of an operator's state, which this process holds from now on; `root` is what was asked for."""
    roots, parts = state_roots(root), (checkpoint_id, _boot(os.environ), file_name(operator))
    folders = [private_directory(user_directory(place)) for place in roots]
    for folder in folders:
        _hold(os.path.join(folder, checkpoint_id))
    places = [os.path.join(folder, *parts) for folder in folders]
    directory = HostDirectory(places[0], places[1] if len(places) > 1 else None)
    if needed_bytes is None:
        needed_bytes = NEEDED_BYTES if roots[0] == MEMORY else 2 * LEAST_BYTES
    if not os.path.isdir(os.path.dirname(directory.own)) and free_bytes(folders[0]) < needed_bytes:
        directory.leave()
    return directory


def state_roots(asked: str | None = None) -> list[str]:
    """Where state lies on this host, and where it lies if there is no room, which is on another file system."""
    root = asked or os.environ.get(STATE_DIRECTORY) or _cluster_root(os.environ) or MEMORY
    disk = tempfile.gettempdir()
    if root == MEMORY and not (os.path.isdir(root) and os.access(root, os.W_OK)):
        return [disk]
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        return [root, disk] if is_other_disk(root, disk) else [root]
    except OSError as error:
        raise file_error("opening the state directory", root, error) from error


def check_state_directory(asked: str | None) -> str | None:
    """What was asked for, else in the environment, as an absolute path; InputError where it cannot be written to."""
    given = asked or os.environ.get(STATE_DIRECTORY)
    if given is None:
        return None
    path = os.path.abspath(local_path(given, "state_directory"))
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(0, "permission denied")
    except OSError as error:
        because = (error.strerror or str(error)).lower()
        raise InputError(f"the state directory '{path}' cannot be written to: {because}; name another one") from None
    return path


class HostState:
    """What this host keeps of a checkpoint's state, held by its driver until `end`."""

    def __init__(self, checkpoint_id: str, root: str | None = None) -> None:
        folders = [private_directory(user_directory(place)) for place in state_roots(root)]
        self._folders = [OwnedFolder(os.path.join(folder, checkpoint_id)) for folder in folders]

    def end(self) -> None:
        """Deletes it; whoever goes on with the checkpoint rebuilds it from the logs."""
        for folder in self._folders:
            folder.remove()

    def release(self) -> None:
        """Leaves it to whoever goes on, or to the next sweep."""
        for folder in self._folders:
            folder.release()


def sweep_state(root: str | None = None) -> list[str]:
    """Removes what drivers and workers that were killed have left on this host; what a living one holds stays."""
    places = {MEMORY, tempfile.gettempdir(), *([root] if root else []), *_asked(os.environ)}
    return [path for place in places for path in sweep(user_directory(place), _CHECKPOINT)]


def is_other_disk(one: str, other: str) -> bool:
    """Whether two directories are on different file systems."""
    return os.stat(one).st_dev != os.stat(other).st_dev


def free_bytes(path: str) -> int:
    """Bytes that this user may still write to a file system."""
    space = os.statvfs(path)
    return space.f_bavail * space.f_frsize


def _hold(path: str) -> None:
    """Holds a folder for the life of this process, or of the folder."""
    if path not in _held or not _held[path].is_there():
        if path in _held:
            _held.pop(path).release()
        _held[path] = OwnedFolder(path)
    for old in [old for old, folder in _held.items() if not folder.is_there()]:
        _held.pop(old).release()


def _boot(environment: Mapping[str, str]) -> str:
    """This start of the machine; workers of a cluster that pass for several hosts on one machine have one each."""
    given = _cluster_root(environment)
    return boot_id() if given is None else f"{boot_id()}-{hashlib.blake2b(given.encode(), digest_size=4).hexdigest()}"


def _asked(environment: Mapping[str, str]) -> list[str]:
    return [environment[STATE_DIRECTORY]] if environment.get(STATE_DIRECTORY) else []


def _cluster_root(environment: Mapping[str, str]) -> str | None:
    """The first of the directories that the cluster gave this executor, None on a local master."""
    given = next((environment[name] for name in _OF_EXECUTORS if environment.get(name)), "")
    return re.split("[,:]", given)[0] or None
