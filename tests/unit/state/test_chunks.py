"""Chunks of stored windows: memory that follows what is held, is used again, given back, and never shared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import StateFileError, StateMovedError
from penstock.state.memory import host_memory
from penstock.state.memory.header import Field, Shared
from penstock.state.rows.slot_copy import release_slots
from penstock.state.rows.stored_count_window import StoredCountWindow
from penstock.state.slots.slot_functions import HashSlots
from tests.faults.state_worker import ALL_SLOTS, SLOTS, Block, Driver, PlainWindow, results, stored_rows, stored_window
from tests.unit.state.test_full_memory import Host

SHAPE = (1000, 1, False)
KEYS = 300


class Setting:
    """A driver, its hosts, and the plain window that takes what is committed."""

    def __init__(self, root: Path) -> None:
        self.root, self.driver, self.plain = root, Driver(root / "checkpoint"), PlainWindow(SHAPE)

    def worker(self, host: str = "host") -> StoredCountWindow:
        return stored_window(self.root / "checkpoint", self.root / host, SHAPE)

    def open(self, window: StoredCountWindow) -> None:
        ledger = self.driver.ledger
        window.open(ALL_SLOTS, ledger.heads, ledger.history, self.driver.token())

    def process(self, window: StoredCountWindow, block: Block) -> None:
        window.process(block.key_columns(pa.int64()), len(block.keys), block.columns())

    def commit(self, window: StoredCountWindow, block: Block) -> None:
        self.open(window)
        fired = window.process(block.key_columns(pa.int64()), len(block.keys), block.columns())
        assert results(fired, len(block.keys)) == results(self.plain.process(block), len(block.keys))
        self.driver.publish(window.commit())

    def rows_are_equal(self, window: StoredCountWindow) -> bool:
        self.open(window)
        rows = stored_rows(window)
        window.close()
        return rows == self.plain.rows()


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


def block_of(each: int, keys: int = KEYS, value: float | None = 1.5) -> Block:
    return Block(tuple(range(keys)) * each, (value,) * (keys * each))


def granules(window: StoredCountWindow) -> int:
    assert window.memory.pool is not None
    return int(window.memory.pool.granules(np.arange(SLOTS)).sum())


@pytest.mark.slow
@pytest.mark.parametrize("each", [1, 3, 100, 1000, 1100])
def test_memory_is_that_of_the_tuples_held(setting: Setting, each: int) -> None:
    """At most 1.3 times what is held, beside 8 entries a key and a page or two a slot."""
    window = setting.worker()
    setting.commit(window, block_of(each))
    entry_bytes = 3 * 8
    held = min(each, 1000) * entry_bytes
    constant = KEYS * 8 * entry_bytes + SLOTS * 3 * 4096
    assert held * KEYS <= window.memory.chunks.memory_bytes <= 1.3 * held * KEYS + constant


@pytest.mark.slow
def test_attempts_that_are_abandoned_take_no_more_memory(setting: Setting) -> None:
    window = setting.worker()
    setting.commit(window, block_of(5))
    taken = []
    for _ in range(4):
        setting.open(window)
        setting.process(window, block_of(40))
        taken.append(
            (granules(window), window.memory.chunks.memory_bytes, window.memory.header.shared[Shared.CHUNKS_USED])
        )
        window.close()
    assert len(set(taken)) == 1
    assert setting.rows_are_equal(window)


@pytest.mark.parametrize("by_rows", [True, False])
def test_a_rebuild_takes_as_many_chunks_as_there_were(setting: Setting, by_rows: bool) -> None:
    window = setting.worker()
    window.store.replay = None if by_rows else window.store.replay
    for each in (2, 9, 30, 4):
        setting.commit(window, block_of(each))
        setting.commit(window, block_of(1, 7))
    other = setting.worker("other")
    assert setting.rows_are_equal(other)
    assert granules(other) == granules(window)


def test_a_host_that_slots_have_left_gives_their_memory_back(setting: Setting) -> None:
    window = setting.worker()
    setting.commit(window, block_of(200))
    assert window.memory.chunks.memory_bytes > 1_000_000
    released = release_slots(window.store, np.arange(SLOTS), setting.driver.epoch, setting.driver.batch)
    assert len(released) == SLOTS
    assert window.memory.chunks.memory_bytes < SLOTS * 8192
    assert setting.rows_are_equal(window)


def test_memory_that_held_nulls_holds_none_for_a_slot_that_knows_of_none(setting: Setting) -> None:
    """An attempt that was lost here wrote nulls; what counts was written elsewhere, where there were none."""
    elsewhere, window = setting.worker("elsewhere"), setting.worker()
    elsewhere.store.replay = None  # rows are logged
    setting.open(window)
    setting.process(window, block_of(60, value=None))
    window.close()
    setting.commit(elsewhere, block_of(50))
    assert window.memory.has_nulls
    assert not elsewhere.memory.has_nulls
    setting.commit(window, block_of(3))
    setting.commit(window, Block((1, 1), (None, 2.0)))


def test_a_worker_maps_what_another_has_made_longer(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory, "GRANULES_AT_FIRST", 16)
    one, other = setting.worker(), setting.worker()
    before = other.memory.chunks.capacity
    setting.commit(one, block_of(20))
    setting.open(other)
    for table in (other.memory.chunks, other.memory.chunk_nulls):
        assert table.capacity >= other.memory.header.shared[Shared.CHUNKS_USED] > before
    assert stored_rows(other) == setting.plain.rows()
    other.close()


def test_two_workers_of_a_host_never_take_the_same_chunk(setting: Setting) -> None:
    one, other = setting.worker(), setting.worker()
    halves = (np.arange(0, SLOTS, 2), np.arange(1, SLOTS, 2))
    block = block_of(30, 60)
    ledger = setting.driver.ledger
    columns = block.key_columns(pa.int64())
    own = HashSlots(SLOTS).slots_of(columns, len(block.keys))
    for window, slots in zip((one, other), halves, strict=True):
        window.open(slots, ledger.heads, ledger.history, setting.driver.token())
    for part in np.split(np.arange(len(block.keys)), 6):  # in turns
        for window, slots in zip((one, other), halves, strict=True):
            rows = part[np.isin(own[part], slots)]
            window.process(
                [column.take(rows) for column in columns], len(rows), [c.take(rows) for c in block.columns()]
            )
    setting.driver.publish(one.commit(), other.commit())
    setting.plain.process(block)
    assert setting.rows_are_equal(one)
    assert setting.rows_are_equal(setting.worker("elsewhere"))


def test_a_full_disk_at_a_chunk_moves_the_task_or_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(tmp_path, monkeypatch, SHAPE)
    window = host.worker()
    host.run(window, block_of(1))
    host.open(window)
    host.is_full = True
    growing = block_of(100)
    with pytest.raises(StateMovedError, match="there is no space for state in"):
        window.process(growing.key_columns(pa.int64()), len(growing.keys), growing.columns())
    window.close()
    assert host.run(window, growing) > 0
    assert host.is_on_disk(window)


def test_a_full_disk_without_another_place_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(tmp_path, monkeypatch, SHAPE)
    window = host.worker(fallback=False)
    host.run(window, block_of(1))
    host.open(window)
    host.is_full = True
    growing = block_of(100)
    with pytest.raises(StateFileError, match=r"reserving memory .* no space left on device; free some space"):
        window.process(growing.key_columns(pa.int64()), len(growing.keys), growing.columns())
    window.close()
    host.is_full = False
    assert host.run(window, growing) > 0


def test_a_slot_that_is_cleared_begins_with_its_first_extent_again(setting: Setting) -> None:
    window = setting.worker()
    setting.commit(window, block_of(20))
    header = window.memory.header
    first = header.chunk_extents[:, 0].copy()
    header.fields[Field.DIRTY] = 1
    setting.open(window)
    window.close()
    assert (header.fields[Field.CHUNK_EXTENTS_USED] > 0).all()
    assert (header.chunk_extents[:, 0] == first).all()
    assert setting.rows_are_equal(window)
