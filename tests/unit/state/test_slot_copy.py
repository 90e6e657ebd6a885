"""Slots brought to another host before any task there needs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.state.extents import Integers
from penstock.state.memory import mapped_rows
from penstock.state.memory.header import Field
from penstock.state.rows import slot_copy
from penstock.state.rows.slot_copy import copy_slots, ready_slots, release_slots
from penstock.state.rows.stored_count_window import StoredCountWindow
from tests.faults.state_worker import ALL_SLOTS, Block, Driver, PlainWindow, results, stored_rows, stored_window

SHAPE = (4, 1, False)
MANY = Block(tuple(range(40)), tuple(float(i) for i in range(40)))
ONE = Block((3, 3), (1.0, 2.0))
EVERY = np.arange(len(ALL_SLOTS))


class TwoHosts:
    """A window that works on one host, and the same window on another that waits for it."""

    def __init__(self, root: Path) -> None:
        self.driver, self.plain = Driver(root / "checkpoint"), PlainWindow(SHAPE)
        self.here, self.there = (stored_window(root / "checkpoint", root / host, SHAPE) for host in ("here", "there"))

    def run(self, block: Block, window: StoredCountWindow | None = None) -> int:
        """One batch; gives how many slots were rebuilt for it."""
        own = window or self.here
        ledger = self.driver.ledger
        rebuilt = len(own.open(ALL_SLOTS, ledger.heads, ledger.history, self.driver.token()))
        fired = own.process(block.key_columns(pa.int64()), len(block.keys), block.columns())
        assert results(fired, len(block.keys)) == results(self.plain.process(block), len(block.keys))
        if own is self.there:
            assert stored_rows(own) == self.plain.rows()
        self.driver.publish(own.commit())
        return rebuilt

    def copy(self, slots: Integers = EVERY) -> list[int]:
        ledger, last = self.driver.ledger, self.driver.last
        assert last is not None
        return list(copy_slots(self.there.store, slots, ledger.heads, ledger.history, self.driver.epoch, last))

    def release(self, slots: Integers = EVERY) -> list[int]:
        assert self.driver.last is not None
        return list(release_slots(self.there.store, slots, self.driver.epoch, self.driver.last))

    def ready(self, budget_bytes: int) -> list[int]:
        ledger = self.driver.ledger
        return list(ready_slots(self.there.store, EVERY, ledger.heads, ledger.history, budget_bytes))


@pytest.fixture
def hosts(tmp_path: Path) -> TwoHosts:
    hosts = TwoHosts(tmp_path)
    hosts.run(MANY)
    hosts.run(MANY)
    return hosts


def test_what_was_copied_is_not_rebuilt(hosts: TwoHosts) -> None:
    assert hosts.copy() == list(EVERY)
    assert hosts.run(MANY, hosts.there) == 0


def test_a_copy_goes_on_from_where_it_was(hosts: TwoHosts) -> None:
    hosts.copy()
    hosts.run(ONE)
    assert hosts.copy() == list(EVERY)
    assert hosts.run(MANY, hosts.there) == 0


def test_the_first_task_does_the_rest(hosts: TwoHosts) -> None:
    hosts.copy()
    hosts.run(ONE)
    assert hosts.run(MANY, hosts.there) == 1, "of the one slot that had changed since"


def test_only_what_was_asked_for_is_copied(hosts: TwoHosts) -> None:
    assert hosts.copy(np.array([1, 4])) == [1, 4]
    assert set(hosts.ready(0)) == {1, 4}


def test_slots_are_ready_as_far_as_the_budget_goes(hosts: TwoHosts) -> None:
    assert hosts.ready(0) == []
    assert hosts.ready(1 << 30) == list(EVERY)
    hosts.copy()
    assert hosts.ready(0) == list(EVERY)
    hosts.run(ONE)
    assert len(hosts.ready(0)) == len(EVERY) - 1
    assert hosts.ready(4096) == list(EVERY)


def test_what_a_task_has_committed_since_is_left_alone(hosts: TwoHosts) -> None:
    before = hosts.driver.ledger
    hosts.run(MANY, hosts.there)
    assert list(copy_slots(hosts.there.store, EVERY, before.heads, before.history, 1, 1)) == []
    assert hosts.run(MANY, hosts.there) == 0


def test_a_copy_that_dies_leaves_slots_to_be_rebuilt(hosts: TwoHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(slot_copy, "rebuild", dies)
    with pytest.raises(KeyboardInterrupt):
        hosts.copy()
    assert hosts.there.memory.header.fields[Field.DIRTY].all()
    assert hosts.ready(0) == []
    monkeypatch.undo()
    assert hosts.copy() == list(EVERY)
    assert hosts.run(MANY, hosts.there) == 0


def test_a_copy_leaves_the_keys_that_a_worker_knows(hosts: TwoHosts) -> None:
    hosts.run(MANY, hosts.there)
    known = hosts.there.store.keys.index.count
    hosts.run(Block((100, 101), (1.0, 1.0)))
    hosts.copy()
    assert hosts.there.store.keys.index.count == known
    assert hosts.run(Block((100, 101), (2.0, 2.0)), hosts.there) == 0


def memory_bytes(window: StoredCountWindow) -> int:
    folder = Path(window.store.memory.directory)
    return sum(512 * (folder / name).stat().st_blocks for name in ("words", "nulls", "keys", "text"))


MANY_KEYS = Block(tuple(range(200_000)), tuple(float(i) for i in range(200_000)))


def test_released_slots_give_their_memory_back_and_are_rebuilt_when_they_are_needed(tmp_path: Path) -> None:
    hosts = TwoHosts(tmp_path)
    hosts.run(MANY_KEYS)
    hosts.copy()
    whole_bytes = memory_bytes(hosts.there)
    assert hosts.release() == list(EVERY)
    assert memory_bytes(hosts.there) < 0.02 * whole_bytes
    assert hosts.ready(0) == []
    assert hosts.run(MANY_KEYS, hosts.there) == len(EVERY)
    assert memory_bytes(hosts.there) < 1.02 * whole_bytes, "where it lay before"


def test_others_keep_what_they_have_when_some_are_released(tmp_path: Path) -> None:
    hosts = TwoHosts(tmp_path)
    hosts.run(MANY_KEYS)
    hosts.copy()
    some = EVERY[::3]
    hosts.release(some)
    assert set(hosts.ready(0)) == set(EVERY) - set(some)
    assert hosts.run(MANY_KEYS, hosts.there) == len(some)
    hosts.release(some[:1])
    hosts.release(some[:1])  # there is nothing there any more
    assert hosts.run(MANY_KEYS, hosts.there) == 1


def test_a_slot_whose_task_died_at_work_is_released_like_any_other(hosts: TwoHosts) -> None:
    hosts.copy()
    hosts.there.store.memory.header.fields[Field.DIRTY, 2] = 1
    assert hosts.release(np.array([2])) == [2]
    assert hosts.run(MANY, hosts.there) == 1


def test_who_dies_while_releasing_leaves_slots_to_be_rebuilt(hosts: TwoHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*arguments: object) -> None:
        raise KeyboardInterrupt

    hosts.copy()
    monkeypatch.setattr(mapped_rows, "_punch", dies)
    with pytest.raises(KeyboardInterrupt):
        hosts.release()
    assert hosts.there.memory.header.fields[Field.DIRTY].all()
    monkeypatch.undo()
    assert hosts.copy() == list(EVERY)
    assert hosts.run(MANY, hosts.there) == 0


def test_slots_that_have_changed_since_are_not_released(hosts: TwoHosts) -> None:
    before = hosts.driver.last
    hosts.run(ONE, hosts.there)  # the slot of key 3 is in use there
    assert before is not None
    released = release_slots(hosts.there.store, EVERY, hosts.driver.epoch, before)
    assert len(released) == len(EVERY) - 1
    assert hosts.run(ONE, hosts.there) == len(EVERY) - 1
