"""Spark's local directory on this machine: in memory where there is space for shuffle files, else on disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass

from penstock.host.directories import scratch_folder
from penstock.host.owned_folder import OwnedFolder, new_folder, sweep
from penstock.state.memory.host_directory import MEMORY

_SHUFFLE_MB = 2048
SOCKET_FOLDER_LENGTH = 60  # Linux has 107 characters for a socket's path, and Spark's names have 42 to 47 of them


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """Spark's local directory on this machine, and why it is there; held, so that a sweep tells it from old ones."""

    folder: OwnedFolder
    because: str
    sockets: OwnedFolder | None = None  # of another folder for sockets, whose paths have to be short

    @property
    def path(self) -> str:
        return self.folder.path

    @property
    def socket_path(self) -> str:
        return (self.sockets or self.folder).path

    def remove(self) -> None:
        self.folder.remove()
        if self.sockets is not None:
            self.sockets.remove()


def make_local_folder(memory_folder: str = MEMORY, needed_mb: int = _SHUFFLE_MB) -> LocalFolder:
    """A new directory for shuffle files, in memory where there is space; those of drivers that died are removed."""
    disk, prefix = tempfile.gettempdir(), f"penstock-{os.getuid()}-"
    for place in (memory_folder, disk):  # first: what was left there may be what takes the space
        sweep(place, f"{prefix}[0-9a-f]{{12}}")
    parent, because = disk, f"'{memory_folder}' is not there"
    if os.path.isdir(memory_folder):
        free_mb = min(shutil.disk_usage(memory_folder).free >> 20, _available_memory_mb() // 2)
        has_space = free_mb >= needed_mb and os.access(memory_folder, os.W_OK)
        parent = memory_folder if has_space else parent
        because = (
            f"'{memory_folder}' has space for {free_mb} MB, {'and' if has_space else 'but'} {needed_mb} MB are wanted"
        )
    folder = new_folder(parent, prefix)
    return LocalFolder(folder, because, None if len(folder.path) <= SOCKET_FOLDER_LENGTH else scratch_folder())


def _available_memory_mb() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
