"""Messages taken apart, many of them for one call of a decoder."""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterable, Iterator, Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.block.schema import TIMESTAMP
from penstock.connectors.planned.source_port import Reading

if TYPE_CHECKING:
    from confluent_kafka import Message

TYPES = {
    "key": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": TIMESTAMP,
    "headers": pa.string(),
    "topic": pa.string(),
}
_MESSAGES, _BYTES = 32_768, 16 << 20  # that are decoded at once
_SAMPLES = 64  # of their timestamps
_value, _offset = methodcaller("value"), methodcaller("offset")


class Gathered:
    """Some messages of a range, in order: values, offsets, and what is included of each.

    The client's own objects are let go of at once: many that live together cost far more to make.
    """

    def __init__(self, include: Sequence[str], range_messages: int) -> None:
        self.values: list[bytes | None] = []
        self._included: dict[str, list[Any]] = {name: [] for name in include}
        self._starts: list[int] = []  # of each piece among the values
        self._offsets: list[Sequence[int]] = []
        self._every = max(1, min(range_messages, _MESSAGES) // _SAMPLES)
        self._stamps: list[tuple[int, int]] = []
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return len(self.values) >= _MESSAGES or self._bytes >= _BYTES

    def add(self, messages: Sequence[Message]) -> None:
        """Messages behind those that are there; their offsets ascend."""
        begin, values = len(self.values), list(map(_value, messages))
        first, last = messages[0].offset(), messages[-1].offset()
        assert first is not None
        assert last is not None
        is_dense = last - first == len(messages) - 1
        self._offsets.append(range(first, last + 1) if is_dense else list(map(_offset, messages)))
        self._starts.append(begin)
        self._stamps += [own.timestamp() for own in messages[-begin % self._every :: self._every]]
        for name, found in self._included.items():
            found += [_included(name, message) for message in messages]
        self.values += values
        self._bytes += sum(map(len, filter(None, values)))

    def offset(self, place: int) -> int:
        piece = bisect.bisect_right(self._starts, place) - 1
        return self._offsets[piece][place - self._starts[piece]]

    def columns(self) -> Iterator[tuple[str, pa.Array]]:
        """What is included of every message."""
        for name, found in self._included.items():
            yield name, pa.array(found, TYPES[name])

    def tell_arrivals(self, reading: Reading) -> None:
        """Timestamps of some messages at even distances, as their topic has them; nothing where it has none."""
        kinds = {kind for kind, _ in self._stamps}
        if 0 not in kinds:
            reading.arrived(np.array([ms for _, ms in self._stamps]) / 1000.0, "append" if kinds == {2} else "create")


def gathered(messages: Iterable[Sequence[Message]], include: Sequence[str], range_messages: int) -> Iterator[Gathered]:
    """All messages of a range, as many together as are decoded at once."""
    some = Gathered(include, range_messages)
    for own in messages:
        some.add(own)
        if some.is_full:
            yield some
            some = Gathered(include, range_messages)
    if some.values:
        yield some


def _included(name: str, message: Message) -> Any:
    match name:
        case "key":
            key = message.key()
            return key.decode(errors="replace") if isinstance(key, bytes) else key
        case "timestamp":
            kind, ms = message.timestamp()
            return ms * 1000 if kind else None
        case "headers":
            pairs: Any = message.headers() or ()
            found = {own: None if value is None else _text(value) for own, value in pairs}
            return json.dumps(found)
        case _:
            return getattr(message, name)()


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")
