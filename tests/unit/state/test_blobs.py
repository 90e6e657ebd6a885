"""State that is not rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.errors import CorruptStateError, StateError
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.logs import Logs
from penstock.state.rows.blob_store import BlobStore
from penstock.state.token import Token

SLOTS = 8


def store(root: Path) -> BlobStore:
    return BlobStore(SLOTS, Logs(str(root)))


def add(blobs: BlobStore, ledger: Ledger, batch: int, slot: int, value: int, attempt: int | None = None) -> Ledger:
    """One batch that appends to the list in a slot."""
    task = blobs.open(
        range(SLOTS), ledger.heads, ledger.history, Token(1, batch, batch if attempt is None else attempt)
    )
    held = task.get(slot) or []
    held.append(value)
    task.put(slot, held)
    return ledger.after(task.commit())


def test_objects_come_back_in_this_process_and_in_others(tmp_path: Path) -> None:
    first, second = store(tmp_path), store(tmp_path)
    ledger = add(first, Ledger.empty(SLOTS), 0, 3, 10)
    ledger = add(first, ledger, 1, 3, 11)
    ledger = add(second, ledger, 2, 5, 12)
    ledger = add(second, ledger, 3, 3, 13)
    task = first.open(range(SLOTS), ledger.heads, ledger.history, Token(1, 4, 9))
    assert (task.get(3), task.get(5), task.get(0)) == ([10, 11, 13], [12], None)
    assert task.rebuilt.tolist() == [3, 5]


def test_what_is_committed_here_is_not_read_again(tmp_path: Path) -> None:
    blobs = store(tmp_path)
    ledger = add(blobs, Ledger.empty(SLOTS), 0, 3, 10)
    task = blobs.open([3], ledger.heads, ledger.history, Token(1, 1, 1))
    assert task.rebuilt.tolist() == []


def test_an_attempt_that_never_counted_is_undone(tmp_path: Path) -> None:
    blobs = store(tmp_path)
    ledger = add(blobs, Ledger.empty(SLOTS), 0, 3, 10)
    task = blobs.open([3], ledger.heads, ledger.history, Token(1, 1, 1))
    task.get(3).append(666)  # dies before its commit
    add(blobs, ledger, 1, 3, 777, attempt=2)  # commits, but no manifest ever names it
    ledger = add(blobs, ledger, 1, 3, 11, attempt=3)
    assert store(tmp_path).open([3], ledger.heads, ledger.history, Token(1, 2, 4)).get(3) == [10, 11]


def test_arrays_and_large_objects_keep_every_bit(tmp_path: Path) -> None:
    value = {"words": np.random.default_rng(1).integers(0, 1 << 60, 100_000), "text": "x" * 1001}
    ledger, blobs = Ledger.empty(SLOTS), store(tmp_path)
    task = blobs.open([1], ledger.heads, ledger.history, Token(1, 0, 0))
    task.put(1, value)
    ledger = ledger.after(task.commit())
    found = store(tmp_path).open([1], ledger.heads, ledger.history, Token(1, 1, 1)).get(1)
    assert np.array_equal(found["words"], value["words"])
    assert found["text"] == value["text"]


def test_mistakes_and_damage_are_said(tmp_path: Path) -> None:
    blobs = store(tmp_path)
    ledger = add(blobs, Ledger.empty(SLOTS), 0, 3, 10)
    task = blobs.open([1], ledger.heads, ledger.history, Token(1, 1, 1))
    with pytest.raises(StateError, match="the object of slot 3 was asked for in a task that does not hold it"):
        task.get(3)
    with pytest.raises(StateError, match="an operator of 8 slots was asked for slots 8 to 8"):
        blobs.open([8], ledger.heads, ledger.history, Token(1, 1, 2))
    path = next(tmp_path.iterdir())
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(CorruptStateError, match="slot 3 has another checksum"):
        store(tmp_path).open([3], ledger.heads, ledger.history, Token(1, 1, 3))


def commit(blobs: BlobStore, ledger: Ledger, batch: int, slots: list[int], attempt: int) -> Ledger:
    """One batch in which a task changes all of its slots."""
    task = blobs.open(slots, ledger.heads, ledger.history, Token(1, batch, attempt))
    for slot in slots:
        task.put(slot, {"of": (batch, slot)})
    return ledger.after(task.commit())


def test_objects_of_slots_that_another_process_goes_on_with_are_released(tmp_path: Path) -> None:
    here, there = store(tmp_path), store(tmp_path)
    ledger = commit(here, Ledger.empty(SLOTS), 0, list(range(SLOTS)), 0)
    ledger = commit(there, commit(here, ledger, 1, [0, 1], 1), 1, [2, 3, 4, 5, 6, 7], 2)
    commit(here, ledger, 2, [0, 1], 3)
    assert here.cached == {0, 1}


def test_objects_of_another_replica_in_the_same_process_are_kept(tmp_path: Path) -> None:
    blobs = store(tmp_path)
    ledger = commit(blobs, Ledger.empty(SLOTS), 0, list(range(SLOTS)), 0)
    for batch in range(1, 5):  # one worker, two replicas: the manifest of a batch comes after both
        before = ledger
        for replica, slots in enumerate(([0, 1, 2, 3], [4, 5, 6, 7])):
            task = blobs.open(slots, before.heads, before.history, Token(1, batch, 2 * batch + replica))
            assert task.rebuilt.tolist() == [], "nothing is read from the log"
            for slot in slots:
                task.put(slot, {"of": (batch, slot)})
            ledger = ledger.after(task.commit())
    assert blobs.cached == set(range(SLOTS))


def test_objects_that_nobody_changes_are_released_after_some_batches(tmp_path: Path) -> None:
    blobs = store(tmp_path)
    ledger = commit(blobs, Ledger.empty(SLOTS), 0, list(range(SLOTS)), 0)
    for batch in range(1, 30):
        ledger = commit(blobs, ledger, batch, [0], batch)
    assert blobs.cached == {0}
    assert blobs.open([5], ledger.heads, ledger.history, Token(1, 30, 30)).get(5) == {"of": (0, 5)}
