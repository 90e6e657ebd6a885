"""State of time windows by slot: taken out, put together again, and refused where it is of another cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.app.operators import Aggregate
from penstock.block.block import Block, block_of
from penstock.block.dead_letters import DeadLetters
from penstock.block.position import EVERYTHING, source_position
from penstock.block.schema import schema_of
from penstock.errors import StateError
from penstock.operators.event_time.event_time_aggregate import EventTimeAggregate
from penstock.runtime.replica.event_time_element import EventTimeElement
from penstock.state.checkpoint.entries import Heads, no_heads
from penstock.state.checkpoint.logs import Logs
from penstock.state.rows.blob_store import BlobStore
from penstock.state.slots.slot_functions import HashSlots
from penstock.state.token import Token

SCHEMA = schema_of({"key": "int64", "x": "float64", "t": "float64"})
SLOTS = 16


def operator() -> Aggregate:
    app = ps.Application("bars")
    source = app.source("ticks", schema={"key": "int64", "x": "float64", "t": "float64"})
    window, emit = ps.sliding(time_s=3, every_s=1, on="t"), {"key": "any(key)", "x": "sum(x)", "low": "min(x)"}
    source.aggregate("bars", window=window, by="key", emit=emit).sink("out")
    found = app.graph.operator("bars")
    assert isinstance(found, Aggregate)
    return found


def running() -> EventTimeAggregate:
    return EventTimeAggregate(operator(), SCHEMA, DeadLetters(), HashSlots(SLOTS), depth=0, ordered=True)


def tuples(seed: int, first: int, rows: int) -> Block:
    chance = np.random.default_rng(seed)
    columns = {
        "key": chance.integers(0, 40, rows),
        "x": chance.normal(size=rows) / 3,
        "t": first / 50 + np.arange(rows) / 50,
    }
    block = block_of(pa.table(columns, SCHEMA), SCHEMA)
    block.position = source_position(np.arange(first, first + rows) * 1.0, 0, first)
    return block


def test_state_that_was_taken_apart_by_slot_goes_on_to_the_bit() -> None:
    whole, moved = running(), running()
    for turn in range(12):
        block = tuples(turn, 200 * turn, 200)
        [expected], [got] = (own.process([block], EVERYTHING) for own in (whole, moved))
        assert got.to_arrow().equals(expected.to_arrow())
        states = moved.export_slots(np.arange(SLOTS))
        moved = running()
        moved.restore_slots(states[slot] for slot in reversed(range(SLOTS)))


def test_slots_change_where_tuples_came_and_all_of_them_when_the_clock_moves() -> None:
    own, every = running(), np.arange(SLOTS)
    own.process([tuples(1, 0, 40)], EVERYTHING)
    assert own.changed(every).tolist() == every.tolist()
    one = tuples(1, 41, 1)
    own.process([one], EVERYTHING)
    keys = [one.column("key")]
    assert own.changed(every).tolist() == HashSlots(SLOTS).slots_of(keys, 1).tolist()
    assert own.changed(every).tolist() == []


class OfOneSlot:
    """What a manifest says that was written when time windows ran on one replica."""

    def heads(self) -> Heads:
        return no_heads(1)

    def history(self, slots: object) -> object:
        raise AssertionError("nothing is to be read")


def test_state_of_an_older_version_is_refused(tmp_path: Path) -> None:
    store = BlobStore(SLOTS, Logs(str(tmp_path), False))
    element = EventTimeElement(lambda: (None, running()), "bars", store)  # type: ignore[arg-type,return-value]
    with pytest.raises(StateError, match="the state of operator 'bars' is in 1 parts, and has to be in 16: an older"):
        element.open(range(SLOTS), lambda name, slots: OfOneSlot(), Token(1, 0, 1))  # type: ignore[arg-type,return-value]
