"""Arrow messages that are read by their batch alone are as those read as streams, whatever lies between them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.dead_letters import DeadLetters
from penstock.block.schema import SYMBOL
from penstock.connectors.planned import decoding
from penstock.connectors.planned.decoding import decode
from penstock.connectors.planned.source_port import Reading

SCHEMA = pa.schema({"n": pa.int64(), "word": SYMBOL, "x": pa.float64()})
_WHOLE = 1 << 20
Message = tuple[str, list[int | None], int, int, bytes]

messages: st.SearchStrategy[list[Message | None]] = st.lists(
    st.none()
    | st.tuples(
        st.sampled_from(["plain", "plain", "plain", "other order", "coded", "narrow", "noted", "lacking", "small"]),
        st.lists(st.none() | st.integers(-5, 5), max_size=5),
        st.integers(0, 2),  # batches
        st.sampled_from([_WHOLE, _WHOLE, _WHOLE, -8, -9, -40, 5, 60, 330, 400]),  # where it was cut
        st.sampled_from([b"", b"", b"\0" * 8, b"\xff\xff\xff\xff\0\0\0\0", b"junk"]),  # behind it
    ),
    max_size=8,
)


def encoded(kind: str, numbers: list[int | None], batches: int, cut: int, behind: bytes) -> bytes:
    words = pa.array([None if n is None else f"w{n}" for n in numbers], pa.string())
    columns: dict[str, Any] = {"n": pa.array(numbers, pa.int64()), "word": words}
    columns["x"] = pa.array([None if n is None else n / 2 for n in numbers], pa.float64())
    match kind:
        case "other order":
            columns = dict(reversed(columns.items()))
        case "coded":
            columns["word"] = words.dictionary_encode()
        case "narrow":
            columns["n"] = columns["n"].cast(pa.int16())
        case "lacking":
            del columns["x"]
    table = pa.table(columns)
    schema = table.schema.with_metadata({"by": "b"}) if kind == "noted" else table.schema
    options = pa.ipc.IpcWriteOptions(compression="lz4" if kind == "small" else None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for _ in range(batches):
            writer.write_table(table.cast(schema))
    return bytes(sink.getvalue())[:cut] + behind


def found(values: list[bytes | None], unused: frozenset[str]) -> tuple[pa.Table, list[int], list[Any]]:
    """The rows, the message of each, and the dead letters."""
    reading = Reading(SimpleNamespace(name="numbers", schema=SCHEMA), DeadLetters(), unused)
    table, places = decode(values, "arrow", None, SCHEMA, reading, lambda place: {"place": place})
    return table, np.asarray(places).tolist(), reading.letters.drain().to_pylist()


@given(messages, st.sampled_from([frozenset[str](), frozenset({"n"}), frozenset({"word", "x"})]))
def test_batches_alone_are_as_whole_streams(drawn: list[Message | None], unused: frozenset[str]) -> None:
    values = [None if own is None else encoded(*own) for own in drawn]
    table, places, letters = found(values, unused)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(decoding._Checked, "batch_like_the_last", lambda checked, value: None)
        plain, plain_places, plain_letters = found(values, unused)
    assert (table.schema, places, letters) == (plain.schema, plain_places, plain_letters)
    assert table.to_pylist() == plain.to_pylist()


def test_messages_behind_a_good_one_of_their_schema_are_read_by_their_batch_alone() -> None:
    seen: list[bool] = []
    before = decoding._Checked.batch_like_the_last

    def noted(checked: decoding._Checked, value: bytes | None) -> pa.RecordBatch | None:
        batch = before(checked, value)
        seen.append(batch is not None)
        return batch

    values: list[bytes | None] = [encoded(kind, [1, 2], 1, _WHOLE, b"") for kind in ("plain", "plain", "coded")]
    values += [encoded("plain", [3], batches, _WHOLE, b"") for batches in (1, 1, 2, 0)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(decoding._Checked, "batch_like_the_last", noted)
        table, _, _ = found(values, frozenset())
    assert seen == [False, True, False, False, True, False, False]
    assert table["n"].to_pylist() == [1, 2, 1, 2, 1, 2, 3, 3, 3, 3]
