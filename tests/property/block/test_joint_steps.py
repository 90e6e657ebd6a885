"""Joint steps of streams in the total order are the same however few tuples any of them has."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block import ordering
from penstock.block.block import Block
from penstock.block.column import FixedColumn
from penstock.block.ordering import joint_steps
from penstock.block.position import Position
from penstock.operators.watermark import event_time_buffer
from penstock.operators.watermark.event_time_buffer import _moves_before

SCHEMA = pa.schema({"n": pa.int64()})
ROOTS = st.tuples(st.sampled_from([0.0, 0.5, 2.0]), st.integers(0, 2), st.integers(0, 5))


def block_of(roots: list[tuple[float, int, int]], first: int) -> Block:
    ordered = sorted(roots)
    stamp, place, sequence = (np.array([root[i] for root in ordered]) for i in range(3))
    levels = np.arange(len(ordered), dtype=np.int64)[None, :]
    position = Position(stamp.astype(np.float64), place.astype(np.int64), sequence.astype(np.int64), levels)
    numbers = np.arange(first, first + len(ordered))
    return Block(SCHEMA, (FixedColumn(numbers, pa.int64()),), len(ordered), position)


def steps_of(blocks: dict[str, Block], rows: int) -> list[tuple[dict[str, list[int]], tuple[float, int, int]]]:
    return [
        ({name: block.to_arrow()["n"].to_pylist() for name, block in step.items()}, tuple(frontier))
        for step, frontier in joint_steps(blocks, rows)
    ]


@given(streams=st.lists(st.lists(ROOTS, max_size=25), min_size=1, max_size=4), rows=st.integers(1, 30))
def test_looking_for_few_tuples_gives_the_steps_of_merging_all(
    streams: list[list[tuple[float, int, int]]], rows: int
) -> None:
    blocks = {f"s{place}": block_of(roots, 100 * place) for place, roots in enumerate(streams)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "_FEW", 1 << 30)  # merges whenever there is anything to merge
        merged = steps_of(blocks, rows)
        patch.setattr(ordering, "_FEW", 0)
        assert steps_of(blocks, rows) == merged
    assert sum(len(own) for step, _ in merged for own in step.values()) == sum(map(len, streams))


@given(tuples=st.lists(ROOTS, max_size=25), moves=st.lists(ROOTS, max_size=8))
def test_moves_before_tuples_are_found_as_they_are_merged(
    tuples: list[tuple[float, int, int]], moves: list[tuple[float, int, int]]
) -> None:
    own, other = block_of(tuples, 0).position, block_of(moves, 0).position
    assert own is not None
    assert other is not None
    wanted = [sum(move < root for move in moves) for root in sorted(tuples)]
    for few in (0, 1 << 30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(event_time_buffer, "_FEW", few)
            assert _moves_before(own, other).tolist() == wanted


@given(roots=st.lists(ROOTS, max_size=25), root=ROOTS)
def test_rows_up_to_a_root_are_counted(roots: list[tuple[float, int, int]], root: tuple[float, int, int]) -> None:
    position = block_of(roots, 0).position
    assert position is not None
    for inclusive in (False, True):
        wanted = sum(own < root or (inclusive and own == root) for own in roots)
        assert position.up_to(ordering.Frontier(*root), inclusive=inclusive) == wanted
