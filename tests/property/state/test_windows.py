"""Stored windows equal plain ones fed with what was committed, whatever workers, moves and crashes came between."""

from __future__ import annotations

import math
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.windows.count import shape as window_shape
from penstock.state.memory import host_memory, mapped_chunks
from penstock.state.rows.stored_count_window import StoredCountWindow
from penstock.state.slots.slot_functions import HashSlots
from tests.faults.state_worker import ALL_SLOTS, SLOTS, Block, Driver, PlainWindow, results, stored_rows, stored_window

# Rows that are narrow, wider than the tuples they take in, and such whose entries lie in many chunks.
SHAPES = [(4, 1, False), (3, 3, True), (20, 2, False), (1200, 1, False)]
# Entries in a few chunks, all of which are taken within a run; the second with tuples behind its newest entry.
CHUNKED = [(22, 1, False), (45, 2, False), (70, 1, False)]
FEW_KEYS = st.one_of(st.none(), st.integers(0, 2))
KEY_TYPES = {"int64": pa.int64(), "string": pa.string(), "double": pa.float64()}
KEYS: dict[str, st.SearchStrategy[Any]] = {
    "int64": st.one_of(st.none(), st.integers(0, 30), st.integers(-(2**63), 2**63 - 1)),
    "string": st.one_of(
        st.none(), st.sampled_from(["", "a", "bc", "seven77", "longer than a word"]), st.text(max_size=90)
    ),
    "double": st.one_of(st.none(), st.sampled_from([math.nan, 0.0, -0.0, 1.5, -math.inf]), st.floats()),
}
VALUES = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([math.nan, math.inf, -0.0]))
ENDINGS = ["commit", "commit", "commit", "abandon", "lose the log", "die before the manifest", "wipe the host"]


class Cluster:
    """A driver and two hosts with two workers each, all in this process."""

    def __init__(self, root: Path, shape: tuple[int, int, bool], key_type: pa.DataType, by_rows: bool) -> None:
        self.driver = Driver(root / "checkpoint")
        self.hosts = [root / "host0", root / "host1"]
        self.root, self.shape, self.key_type, self.by_rows = root, shape, key_type, by_rows
        self.start_workers()

    def start_workers(self) -> None:
        checkpoint, shape = self.root / "checkpoint", self.shape
        self.workers = [stored_window(checkpoint, host, shape, self.key_type) for host in self.hosts for _ in range(2)]
        for worker in self.workers if self.by_rows else ():
            worker.store.replay = None  # tuples are logged only where they can be replayed

    def run(self, blocks: list[Block], route: list[int], ending: str) -> list[Any] | None:
        """One attempt at a batch; None where it did not come to be counted."""
        fired: list[Any] = []
        entries = []
        for place, worker in enumerate(self.workers):
            slots = [slot for slot in ALL_SLOTS if route[slot] == place]
            if slots:
                ledger = self.driver.ledger
                worker.open(slots, ledger.heads, ledger.history, self.driver.token())
                for number, block in enumerate(blocks):
                    fired += [(number, *row) for row in self._process(worker, block, slots)]
                if ending == "abandon":
                    worker.close()
                    return None
                entries.append(worker.commit())
        if ending == "wipe the host":
            shutil.rmtree(self.hosts[0], ignore_errors=True)
        if ending == "lose the log":
            return None
        if ending == "die before the manifest":
            self.driver.restart()
            return None
        self.driver.publish(*entries)
        return sorted(fired)

    def _process(self, worker: StoredCountWindow, block: Block, slots: list[int]) -> list[Any]:
        """What the tuples that are routed to a worker make fire, by their places in the block."""
        columns, values = block.key_columns(self.key_type), block.columns()
        own = np.flatnonzero(np.isin(HashSlots(SLOTS).slots_of(columns, len(block.keys)), slots))
        chosen = [column.take(own) for column in values]
        fired = worker.process([column.take(own) for column in columns], len(own), chosen)
        return [(int(own[place]), *row) for place, *row in results(fired, len(own))]

    def rows(self) -> dict[Any, bytes]:
        worker = self.workers[0]
        worker.open(ALL_SLOTS, self.driver.ledger.heads, self.driver.ledger.history, self.driver.token())
        rows = stored_rows(worker)
        worker.close()
        return rows


def draw_blocks(data: st.DataObject, key: st.SearchStrategy[Any], most: int = 12) -> list[Block]:
    value = st.one_of(st.none(), VALUES) if data.draw(st.integers(0, 5)) == 0 else VALUES
    pairs = st.lists(st.tuples(key, value), min_size=1, max_size=most)
    drawn = data.draw(st.lists(pairs, max_size=3))
    return [Block(tuple(key for key, _ in pair), tuple(value for _, value in pair)) for pair in drawn]


@given(data=st.data())
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("key_type", KEYS)
def test_stored_windows_equal_plain_ones(shape: tuple[int, int, bool], key_type: str, data: st.DataObject) -> None:
    check(shape, KEY_TYPES[key_type], KEYS[key_type], 12, data)


@given(data=st.data(), chunks_per_extent=st.sampled_from([1, 2, 32]))
@pytest.mark.parametrize("shape", CHUNKED, ids=str)
def test_windows_in_chunks_equal_plain_ones(
    shape: tuple[int, int, bool], chunks_per_extent: int, data: st.DataObject
) -> None:
    """Few keys, so that windows outgrow their chunks, extents that a chunk or two fill, and files that get longer."""
    per_extent = patch.object(mapped_chunks, "CHUNKS_PER_EXTENT", chunks_per_extent)
    with per_extent, patch.object(host_memory, "GRANULES_AT_FIRST", 4):
        check(shape, pa.int64(), FEW_KEYS, 60, data)


@given(data=st.data(), batches=st.integers(1, 6))
def test_logs_of_versions_without_chunks_are_read(batches: int, data: st.DataObject) -> None:
    """Theirs have rows that are as long as a full window's."""
    shape = (22, 1, False)
    with tempfile.TemporaryDirectory() as root:
        with patch.object(window_shape, "ROW_ENTRIES_WORDS_MAX", 1 << 30):
            cluster, plain = Cluster(Path(root), shape, pa.int64(), data.draw(st.booleans())), PlainWindow(shape)
            assert cluster.workers[0].memory.pool is None
            run_batches(cluster, plain, FEW_KEYS, 60, batches, data)
        after = PlainWindow(shape)
        after.index = plain.index
        after.window.restore(plain.window.export())  # an in-process snapshot of theirs, too
        cluster.start_workers()
        assert cluster.workers[0].memory.pool is not None
        run_batches(cluster, after, FEW_KEYS, 60, batches, data)
        assert cluster.rows() == after.rows()


def check(
    shape: tuple[int, int, bool], key_type: pa.DataType, key: st.SearchStrategy[Any], most: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as root:
        cluster = Cluster(Path(root), shape, key_type, data.draw(st.booleans()))
        plain = PlainWindow(shape, key_type)
        run_batches(cluster, plain, key, most, data.draw(st.integers(1, 8)), data)
        assert cluster.rows() == plain.rows()


def run_batches(
    cluster: Cluster, plain: PlainWindow, key: st.SearchStrategy[Any], most: int, batches: int, data: st.DataObject
) -> None:
    for _ in range(batches):
        blocks = draw_blocks(data, key, most)
        fired = None
        while fired is None:
            route = data.draw(st.lists(st.integers(0, 3), min_size=SLOTS, max_size=SLOTS))
            fired = cluster.run(blocks, route, data.draw(st.sampled_from(ENDINGS)))
        expected = [
            (number, *row)
            for number, block in enumerate(blocks)
            for row in results(plain.process(block), len(block.keys))
        ]
        assert fired == sorted(expected)
