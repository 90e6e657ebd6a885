"""Made-up tuples have the types of a schema, whatever these are."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.runtime.sources.synthetic import synthetic_batch

_TYPES = [
    pa.int8(), pa.int32(), pa.int64(), pa.uint16(), pa.float32(), pa.float64(), pa.bool_(), pa.string(),
    pa.dictionary(pa.int32(), pa.string()), pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC"),
    pa.date32(), pa.binary(),
]  # fmt: skip


@pytest.mark.parametrize("kind", _TYPES, ids=str)
def test_tuples_of_every_type(kind: pa.DataType) -> None:
    batch = synthetic_batch(pa.schema([("x", kind), ("n", pa.int64())]), 40)
    batch.validate(full=True)
    assert batch.num_rows == 40
    assert batch.schema.field("x").type == kind


def test_keys_repeat_and_differ() -> None:
    batch = synthetic_batch(pa.schema([("k", pa.string()), ("x", pa.float64())]), 3)
    assert batch.column("k").to_pylist() == ["k0", "k1", "k2"]
