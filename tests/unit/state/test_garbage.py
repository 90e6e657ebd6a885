"""Garbage among what is frozen: at once where nobody collects later, else some tasks later."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from penstock.state.memory.garbage import WorkerGarbage


class Ring:
    """Refers to itself, so that only a collection ends it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    gc.collect()
    yield
    gc.unfreeze()


def frozen_ring() -> weakref.ref[Ring]:
    ring = Ring()
    gc.freeze()
    return weakref.ref(ring)


@pytest.mark.parametrize("freezes", [False, True])
def test_at_once_where_nobody_collects_later(freezes: bool) -> None:
    ring = frozen_ring()
    gc.collect()
    assert ring() is not None
    WorkerGarbage().release(freezes=freezes)
    assert ring() is None
    assert (gc.get_freeze_count() > 0) == freezes


def test_after_some_tasks_where_a_collector_comes() -> None:
    garbage, ring = WorkerGarbage(), frozen_ring()
    garbage.expect_collector()
    assert not garbage.collect_after_task()
    garbage.release(freezes=True)
    assert ring() is not None
    done = [garbage.collect_after_task() for _ in range(20)]
    assert done == [False] * 7 + [True] + [False] * 12
    assert ring() is None
    assert gc.get_freeze_count() > 0
