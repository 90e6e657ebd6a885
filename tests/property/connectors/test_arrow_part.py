"""Parts of several replicas are read in the total order, however their blocks stand to each other."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.block import Block
from penstock.block.column import FixedColumn
from penstock.block.position import Position
from penstock.connectors.port import BatchId
from penstock.connectors.sinks.sink_port import Delivery, Part

SCHEMA = pa.schema({"n": pa.int64()})
PLACES = st.tuples(st.sampled_from([0.0, 1.5]), st.integers(0, 1), st.integers(0, 6), st.integers(0, 2))


def block_of(numbers: list[int], places: list[tuple[float, int, int, int]], depth: int) -> Block:
    stamp, place, sequence, level = zip(*places, strict=True)
    levels = np.array([level], np.int64) if depth else np.empty((0, len(places)), np.int64)
    position = Position(np.array(stamp), np.array(place, np.int64), np.array(sequence, np.int64), levels)
    return Block(SCHEMA, (FixedColumn(np.array(numbers, np.int64), pa.int64()),), len(numbers), position)


@given(places=st.lists(PLACES, max_size=40, unique_by=lambda own: own[:3]), data=st.data())
def test_parts_are_read_in_the_order_of_positions(
    places: list[tuple[float, int, int, int]], data: st.DataObject
) -> None:
    shape = data.draw(st.sampled_from(["any", "in turn", "in order"]))
    numbers = sorted(range(len(places)), key=lambda n: places[n])
    wanted = list(numbers)
    if shape == "any":
        numbers = data.draw(st.permutations(numbers))
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(numbers) - 1)), max_size=5)))
    pieces = [numbers[a:b] for a, b in zip([0, *cuts], [*cuts, len(numbers)], strict=True) if numbers[a:b]]
    if shape == "in turn":
        pieces = data.draw(st.permutations(pieces))
    depth, rows = data.draw(st.integers(0, 1)), data.draw(st.integers(1, 50))
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for replica in range(2):
            part = Part("out", SCHEMA, BatchId(0, "run"), replica=replica, folder=Path(folder)).stage()
            for piece in pieces[replica::2]:
                part.write(block_of(piece, [places[n] for n in piece], depth))
            names += [part.close()] if pieces[replica::2] else []
        delivery = Delivery("out", SCHEMA, BatchId(0, "run"), tuple(names), folder=Path(folder))
        found = [batch.column("n").to_pylist() for batch in delivery.batches(rows)]
        assert [n for own in found for n in own] == wanted
        assert all(0 < len(own) <= rows for own in found)
        assert delivery.table()["n"].to_pylist() == wanted
