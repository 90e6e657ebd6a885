"""Rows on their way to the stream in the JVM, and the questions that it asks."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from penstock.errors import InputError
from penstock.runtime.replica.source_rows import SCHEMA
from penstock.spark.sources.driver_stream import _Callback, _package, check_callbacks, packed_shares

ROWS = [
    {"source": "quotés", "start": 5, "stop": 2**40, "payload": None, "frontier": b"\x00\xff"},
    {"source": "", "start": -1, "stop": -1, "payload": b"", "frontier": None},
]


class Reader:
    """Two partitions, the second of them without rows."""

    def initialOffset(self) -> dict[str, int]:
        return {"a": 0}

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:
        if start["a"] > 90:
            raise InputError("source 'a' is gone")
        return {"a": start["a"] + 7}

    def partitions(self, start: Any, end: Any) -> list[int]:
        return [end["a"] - start["a"], 0]

    def read(self, partition: int) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist(ROWS if partition else [], SCHEMA)


def unpacked(data: bytes) -> list[list[dict[str, Any]]]:
    """What the stream reads, as its Java does."""
    at = 0

    def take(form: str) -> tuple[Any, ...]:
        nonlocal at
        found = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return found

    def sized() -> bytes | None:
        nonlocal at
        (length,) = take(">i")
        if length < 0:
            return None
        at += length
        return data[at - length : at]

    shares = []
    for _ in range(take(">i")[0]):
        rows = []
        for _ in range(take(">i")[0]):
            source = (sized() or b"").decode()
            start, stop = take(">qq")
            rows.append({"source": source, "start": start, "stop": stop, "payload": sized(), "frontier": sized()})
        shares.append(rows)
    assert at == len(data)
    return shares


def test_rows_arrive_as_they_were_packed() -> None:
    assert unpacked(packed_shares([ROWS, [], ROWS[:1]])) == [ROWS, [], ROWS[:1]]


def test_the_reader_answers_every_question() -> None:
    callback = _Callback(Reader())
    first = callback.apply("initial")
    assert isinstance(first, str)
    latest = callback.apply(f"latest\n{first}")
    assert isinstance(latest, str)
    assert json.loads(latest) == {"a": 7}
    rows = callback.apply(f"rows\n{first}\n{latest}")
    assert isinstance(rows, bytes)
    assert unpacked(rows) == [ROWS, []]


def test_what_a_reader_raises_is_passed_on_alone() -> None:
    with pytest.raises(InputError, match="source 'a' is gone") as caught:
        _Callback(Reader()).apply('latest\n{"a": 91}')
    assert caught.value.__cause__ is None
    with pytest.raises(ValueError, match="what"):
        _Callback(Reader()).apply("what")


def test_a_spark_without_partitions_in_memory_is_named() -> None:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    class Loader:
        def loadClass(self, name: str) -> None:
            raise Py4JJavaError.__new__(Py4JJavaError)

    with pytest.raises(InputError, match="has no partitions in memory that Penstock knows"):
        _package(Loader())


def test_a_socket_that_py4j_cannot_wait_for_is_refused() -> None:
    check_callbacks(1023)
    with pytest.raises(InputError, match="must be below 1,024; got 1,674: this process has too many open files"):
        check_callbacks(1674)
