"""What all tests of the data plane share."""

from __future__ import annotations

import pytest

from penstock.state.memory.garbage import WorkerGarbage


@pytest.fixture(autouse=True)
def _no_walk_over_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that meets a new run looks for garbage in all of its process, which took a quarter of these tests."""
    monkeypatch.setattr(WorkerGarbage, "_collect_all", staticmethod(lambda *, freezes: None))
