"""Tuples that wait in the checkpoint: put off, told apart from nothing, and through only once they are worked on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import penstock as ps
from penstock.block.block import Block, block_of
from penstock.block.envelope import unseal
from penstock.runtime.migration.deferred_tuples import DeferredTuples, together
from penstock.runtime.migration.waiting_tuples import deferred_name, elements_with_waiting, has_waiting, waiting_store
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.entries import Entries
from penstock.state.checkpoint.ledger import Ledger
from penstock.state.checkpoint.manifests import Manifests
from penstock.state.checkpoint.state_before import StateBefore
from penstock.state.token import Token

SCHEMA = pa.schema([("k", pa.int64()), ("n", pa.int64())])
NAME = deferred_name("window")
SLOTS = 4


class Batches:
    """Batches of one element whose slot is its key; only some slots are ready."""

    def __init__(self, folder: Path) -> None:
        app = ps.Application("put_off")
        app.source("s", schema={"k": "int64", "n": "int64"}).sink("out", ps.sinks.discard())
        self.checkpoint = Checkpoint(folder)
        fixed = self.checkpoint.fix(app.graph, slots=SLOTS, now_s=0.0, dumps=dumps_for_workers)
        store = waiting_store(self.checkpoint, fixed, NAME, SLOTS)
        self.deferred = DeferredTuples(store, lambda stream, block: block.column("k").to_arrow().to_numpy())
        self.manifests, self.batch, self.ledger = Manifests(self.checkpoint.manifests), -1, Ledger.empty(SLOTS)

    def run(self, ready: list[int], *blocks: tuple[int, list[tuple[int, int]]]) -> list[tuple[int, int]]:
        """The tuples that are worked on, in their order."""
        before = StateBefore(self.checkpoint.manifests, self.batch if self.batch >= 0 else None, NAME, SLOTS)
        self.batch += 1
        self.deferred.open(np.arange(SLOTS), np.array(ready, np.int64), before, Token(1, self.batch, 1), 10)
        done = []
        for _, block in together(self.deferred.earlier(), lambda s, p: unseal(p, SCHEMA)).values():
            done += rows_of(block)
        for sequence, rows in blocks:
            done += rows_of(self.deferred.ready("s", sequence, block_from(rows)))
        self._publish(self.deferred.commit())
        return done

    def _publish(self, entries: Entries) -> None:
        previous = self.batch - 1 if self.batch else None
        after = self.manifests.publish(self.batch, 1, {NAME: self.ledger}, {NAME: entries}, previous=previous)
        self.ledger = after[NAME]


def block_from(rows: list[tuple[int, int]]) -> Block:
    return block_of(pa.RecordBatch.from_pylist([{"k": k, "n": n} for k, n in rows], SCHEMA), SCHEMA)


def rows_of(block: Block) -> list[tuple[int, int]]:
    return [tuple(row.values()) for row in block.to_arrow().to_pylist()]  # type: ignore[misc]


def test_tuples_of_slots_that_are_not_ready_go_first_once_they_are(tmp_path: Path) -> None:
    batches = Batches(tmp_path)
    assert batches.run([0, 1], (0, [(0, 1), (2, 2), (1, 3)]), (3, [(2, 4), (3, 5)])) == [(0, 1), (1, 3)]
    assert has_waiting(batches.checkpoint)
    assert elements_with_waiting({NAME: batches.ledger}) == {"window"}
    assert batches.run([0, 1, 3], (0, [(2, 6), (3, 7)])) == [(3, 5), (3, 7)]
    assert batches.run([0, 1, 2, 3], (0, [(2, 8)])) == [(2, 2), (2, 4), (2, 6), (2, 8)]
    assert not has_waiting(batches.checkpoint)
    assert batches.run([0, 1, 2, 3], (0, [(2, 9)])) == [(2, 9)]


def test_a_task_that_dies_changes_nothing_that_waits(tmp_path: Path) -> None:
    batches = Batches(tmp_path)
    batches.run([], (0, [(1, 1)]))
    before = StateBefore(batches.checkpoint.manifests, 0, NAME, SLOTS)
    batches.deferred.open(np.arange(SLOTS), np.arange(SLOTS), before, Token(1, 1, 1), 10)
    assert len(batches.deferred.earlier()) == 1
    assert batches.run([0, 1, 2, 3]) == [(1, 1)]


def test_nothing_is_logged_where_nothing_waits(tmp_path: Path) -> None:
    batches = Batches(tmp_path)
    batches.run([0, 1, 2, 3], (0, [(1, 1)]))
    assert not list(Path(batches.checkpoint.logs(NAME)).glob("*"))
    assert not has_waiting(batches.checkpoint)


def test_offsets_of_what_waits_cover_its_blocks(tmp_path: Path) -> None:
    """So that results of it count as late, by the arrival of their tuples."""
    batches = Batches(tmp_path)
    batches.run([], (20, [(1, 1)]), (50, [(1, 2)]))
    batches.run([0], (70, [(1, 3)]))
    before = StateBefore(batches.checkpoint.manifests, 1, NAME, SLOTS)
    batches.deferred.open(np.arange(SLOTS), np.arange(SLOTS), before, Token(1, 2, 1), 10)
    waiting, block = together(batches.deferred.earlier(), lambda s, p: unseal(p, SCHEMA))["s"]
    assert (waiting.sequence, waiting.offsets, block.rows) == (20, 60, 3)
