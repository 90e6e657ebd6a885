"""What all tests of the data plane share."""

from __future__ import annotations

import gc
import os

import pytest

from penstock.runtime.exchange import host_exchange
from penstock.state.memory.garbage import WorkerGarbage

_MANY_FILES = 300


@pytest.fixture(autouse=True)
def _no_walk_over_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that meets a new run looks for garbage in all of its process, which took a quarter of these tests.

    Here it does where it has many files open: mapped files of runs that have ended are among the garbage.
    """
    monkeypatch.setattr(WorkerGarbage, "_collect_all", staticmethod(_collect_files))


def _collect_files(*, freezes: bool) -> None:
    if len(os.listdir("/proc/self/fd")) > _MANY_FILES:
        gc.unfreeze()
        gc.collect()


@pytest.fixture(autouse=True)
def _small_payloads_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tasks hand payloads to each other through files, these few tuples go that way, too."""
    monkeypatch.setattr(host_exchange, "LARGE_BYTES", 1)
