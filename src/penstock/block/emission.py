"""Blocks that operators emit: positions and punctuations follow the rows they came from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.block.block import Block
from penstock.block.column import Column
from penstock.block.position import Integers, output_numbers


def emitted(block: Block, schema: pa.Schema, columns: tuple[Column, ...], rows: Integers | None) -> Block:
    """The output block whose row i was made from the input's row `rows[i]` (ascending; None: row for row)."""
    position, marks = block.position, block.punctuations
    if rows is None:
        if position is not None:
            position = position.extend(np.zeros(block.rows, np.int64))
        return Block(schema, columns, block.rows, position, marks)
    if position is not None:
        position = position.take(rows).extend(output_numbers(rows))
    return Block(schema, columns, len(rows), position, None if marks is None else marks.through(rows))
