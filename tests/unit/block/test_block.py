"""Blocks keep rows, positions and punctuations together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.block.block import Block, block_of, concat_blocks, empty_block
from penstock.block.emission import emitted
from penstock.block.position import Position, later_rows, merge_order, output_numbers, source_position
from penstock.block.punctuation import Punctuations, identities, punctor_of
from penstock.block.schema import schema_of

SCHEMA = schema_of({"x": "int64", "word": "symbol", "text": "string"})


def block(first: int, rows: int) -> Block:
    numbers = list(range(first, first + rows))
    words = [f"w{n % 3}" for n in numbers]
    table = pa.table({"x": numbers, "word": pa.array(words).dictionary_encode(), "text": words, "extra": numbers})
    return block_of(table, SCHEMA, source_position(np.array(numbers, np.float64), 0, first))


def keys(position: Position) -> list[tuple[float, ...]]:
    return [tuple(row) for row in np.vstack([position.stamp, position.place, position.sequence, *position.levels]).T]


def test_blocks_are_cut_and_put_together_again() -> None:
    whole = block(0, 7)
    parts = concat_blocks([whole.slice(0, 3), whole.slice(3, 3), block(3, 4)])
    assert parts.to_arrow().to_pylist() == whole.to_arrow().to_pylist()
    assert parts.position is not None
    assert whole.position is not None
    assert keys(parts.position) == keys(whole.position)


def test_rows_are_taken_with_their_positions() -> None:
    taken = block(0, 5).take(np.array([4, 1]))
    assert taken.to_arrow().column("x").to_pylist() == [4, 1]
    assert taken.position is not None
    assert taken.position.stamp.tolist() == [4.0, 1.0]


def test_an_empty_block_has_the_schema() -> None:
    assert empty_block(SCHEMA).to_arrow().schema == SCHEMA


def test_outputs_stand_at_their_tuples_position_and_number() -> None:
    rows = np.array([1, 1, 3])
    source = block(0, 4)
    source.punctuations = Punctuations(np.array([0, 2, 4]), identities(5, 0, 3), None)
    output = emitted(source, SCHEMA, tuple(c.take(rows) for c in source.columns), rows)
    assert output.position is not None
    assert keys(output.position) == [(1, 0, 1, 0), (1, 0, 1, 1), (3, 0, 3, 0)]
    assert output.punctuations is not None
    assert output.punctuations.offsets.tolist() == [0, 2, 3]


def test_numbers_of_outputs_start_anew_at_each_row() -> None:
    assert output_numbers(np.array([3, 5, 5, 5, 8])).tolist() == [0, 0, 1, 2, 0]
    assert output_numbers(np.array([], np.int64)).tolist() == []


def test_equal_positions_go_by_the_order_of_the_inputs() -> None:
    one, other = source_position(np.array([1.0, 2.0]), 0, 0), source_position(np.array([1.0, 2.0]), 0, 0)
    assert merge_order([one, other]).tolist() == [0, 2, 1, 3]
    assert merge_order([one, other.extend(np.zeros(2, np.int64))]).tolist() == [0, 2, 1, 3]
    assert one.runs().tolist() == [0, 1]
    assert one.take(np.array([0, 0, 1])).runs().tolist() == [0, 0, 1]


def test_punctuations_stand_after_all_that_comes_of_their_tuple_or_before_it() -> None:
    tuples = source_position(np.array([1.0, 2.0]), 0, 0).extend(np.zeros(2, np.int64))
    deep = tuples.extend(np.full(2, 7)).extend(np.full(2, 7))
    after, before = tuples.as_punctuations(before=False), tuples.as_punctuations(before=True)
    fired = after.before_punctuations(np.zeros(2, np.int64))
    for low, high in ((deep, after), (before, tuples), (deep, fired), (fired, after)):
        assert later_rows(high, low).all()
        assert not later_rows(low, high).any()
    assert later_rows(before.slice(1, 2), after.slice(0, 1)).all()


def test_identities_tell_punctors_and_their_marks_apart() -> None:
    own = identities(7, 3, 2)
    assert punctor_of(own).tolist() == [7, 7]
    assert len({*own.tolist(), *identities(8, 3, 2).tolist(), *identities(7, 5, 1).tolist()}) == 5
