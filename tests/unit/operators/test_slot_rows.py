"""Waiting tuples that an older version logged as arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.operators.watermark.slot_rows import block_of_rows


def test_rows_of_older_versions_are_read_beside_new_ones() -> None:
    older = {
        "columns": [(None, np.array([7, 8]))],
        "root": [np.array([0.5, 1.5]), np.array([0, 1]), np.array([3, 4])],
        "levels": np.array([[1, 2]]),
    }
    newer = {
        "columns": [(None, ("<i8", np.array([9]).tobytes()))],
        "root": [np.array([2.5]).tobytes(), np.array([1]).tobytes(), np.array([5]).tobytes()],
        "levels": np.array([[3]]).tobytes(),
    }
    block = block_of_rows([older, newer], pa.schema([("x", pa.int64())]))
    assert block is not None
    assert block.position is not None
    assert block.to_arrow().to_pydict() == {"x": [7, 8, 9]}
    assert block.position.stamp.tolist() == [0.5, 1.5, 2.5]
    assert (block.position.sequence.tolist(), block.position.levels.tolist()) == ([3, 4, 5], [[1, 2, 3]])
