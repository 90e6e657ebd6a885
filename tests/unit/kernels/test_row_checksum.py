"""Checksums of rows tell any change, lists included, and do not depend on how columns are held."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.block.block import block_of
from penstock.kernels.keys.row_checksum import add_checksums, checksum_of

LISTS = [[1.5, 2.0], [], None, [None], [0.0, 1.5]]


def checksum(values: list[Any] | pa.Array, type_: pa.DataType | None = None) -> int:
    table = pa.table({"x": pa.array(values, type_ or pa.list_(pa.float64())) if isinstance(values, list) else values})
    return checksum_of(block_of(table, table.schema))


@pytest.mark.parametrize(
    "other",
    [[[1.5], [2.0], None, [None], [0.0, 1.5]], [[1.5, 2.0], None, None, [None], [0.0, 1.5]],
     [[1.5, 2.0], [], None, [], [0.0, 1.5]], [[2.0, 1.5], [], None, [None], [0.0, 1.5]]],
)  # fmt: skip
def test_lists_that_differ_have_other_checksums(other: list[Any]) -> None:
    assert checksum(other) != checksum(LISTS)


def test_checksums_of_pieces_add_up() -> None:
    whole = pa.array(LISTS, pa.list_(pa.float64()))
    assert add_checksums(checksum(whole.slice(0, 2)), checksum(whole.slice(2))) == checksum(LISTS)


def test_lists_of_text_and_of_lists_have_checksums() -> None:
    texts, nested = pa.list_(pa.string()), pa.list_(pa.list_(pa.int64()))
    assert checksum([["a", "b"], ["c"]], texts) != checksum([["a"], ["b", "c"]], texts)
    assert checksum([[[1], [2]]], nested) != checksum([[[1, 2], []]], nested)
