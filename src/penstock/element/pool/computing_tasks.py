"""Tasks of this host whose calls compute: they share its cores, and know of each other by a file each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from penstock.control.threads.fair_share import even_share
from penstock.errors import StateError
from penstock.host.cores import own_cores
from penstock.host.directories import temporary_directory
from penstock.host.process import Process, this_process


class ComputingTasks:
    """Those with a file in `folder` and a process that lives.  Without a folder a task knows of itself alone."""

    def __init__(self, folder: Path | None, cores: Callable[[], int] = own_cores) -> None:
        self._folder, self._cores = folder, cores
        self._own: Path | None = None

    def cores(self) -> int:
        """Cores for each of them; those of the host where nobody computes."""
        return even_share(max(1, sum(process.is_alive() for process in self._known())), self._cores())

    def join(self) -> None:
        """This process's task computes, from now on."""
        if self._own is not None or self._folder is None:
            return
        own = this_process()
        path = self._folder / f"{own.pid}-{own.start_ticks}"
        with contextlib.suppress(OSError):  # others then take more cores than they would
            self._folder.mkdir(parents=True, exist_ok=True)
            path.touch()
            self._own = path

    def leave(self) -> None:
        """It waits rather, or is over."""
        if self._own is not None:
            _remove(self._own)
            self._own = None

    def _known(self) -> Iterator[Process]:
        paths = []
        if self._folder is not None:
            with contextlib.suppress(OSError):
                paths = list(self._folder.iterdir())
        for path in paths:
            pid, _, start_ticks = path.name.partition("-")
            process = Process(int(pid), int(start_ticks))
            if not process.is_alive():
                _remove(path)
            yield process


def computing_tasks_of_host() -> ComputingTasks:
    """Those of all `elastic_map`s of this user."""
    try:
        return ComputingTasks(Path(temporary_directory(), "elastic-computing"))
    except (OSError, StateError):
        return ComputingTasks(None)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
