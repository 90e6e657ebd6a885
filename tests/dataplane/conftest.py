"""What all tests of the data plane share."""

from __future__ import annotations

import pytest

from penstock.runtime.exchange import host_exchange
from penstock.state.memory.garbage import WorkerGarbage


@pytest.fixture(autouse=True)
def _no_walk_over_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that meets a new run looks for garbage in all of its process, which took a quarter of these tests."""
    monkeypatch.setattr(WorkerGarbage, "_collect_all", staticmethod(lambda *, freezes: None))


@pytest.fixture(autouse=True)
def _small_payloads_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tasks hand payloads to each other through files, these few tuples go that way, too."""
    monkeypatch.setattr(host_exchange, "LARGE_BYTES", 1)
