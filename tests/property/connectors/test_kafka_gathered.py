"""Messages taken apart piece by piece: values, offsets, samples of timestamps and columns as of all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.dead_letters import DeadLetters
from penstock.connectors.kafka import gathered as gathered_module
from penstock.connectors.kafka.gathered import gathered
from penstock.connectors.planned.decoding import _is_line_by_line
from penstock.connectors.planned.source_port import Reading


@dataclass(frozen=True)
class Message:
    """What the client gives."""

    place: int
    text: bytes | None

    def value(self) -> bytes | None:
        return self.text

    def offset(self) -> int:
        return self.place

    def timestamp(self) -> tuple[int, int]:
        return 1, 10 * self.place

    def key(self) -> bytes:
        return f"k{self.place}".encode()


@given(
    st.lists(st.tuples(st.integers(1, 3), st.one_of(st.none(), st.binary(max_size=4))), max_size=60),
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.integers(1, 20),
    st.integers(4, 40),
    st.integers(1, 8),
)
def test_pieces_are_as_one(
    steps: list[tuple[int, bytes | None]], cuts: list[int], most: int, most_bytes: int, samples: int
) -> None:
    places = np.cumsum([step for step, _ in steps]).tolist()
    messages = [Message(place, text) for place, (_, text) in zip(places, steps, strict=True)]
    pieces, begin, number = list[list[Message]](), 0, 0
    while begin < len(messages):
        pieces.append(messages[begin : begin + cuts[number % len(cuts)]])
        begin, number = begin + len(pieces[-1]), number + 1
    with pytest.MonkeyPatch.context() as patched:
        for name, value in (("_MESSAGES", most), ("_BYTES", most_bytes), ("_SAMPLES", samples)):
            patched.setattr(gathered_module, name, value)
        some: list[Any] = list(gathered(pieces, ["key"], len(messages)))  # type: ignore[arg-type]
        assert all(own.is_full for own in some[:-1])
        every = max(1, min(len(messages), most) // samples)
    assert [value for own in some for value in own.values] == [message.text for message in messages]
    assert [own.offset(i) for own in some for i in range(len(own.values))] == places
    assert [key for own in some for key in dict(own.columns())["key"].to_pylist()] == [f"k{p}" for p in places]
    begin = 0
    for own in some:
        reading = Reading(None, DeadLetters())  # type: ignore[arg-type]
        own.tell_arrivals(reading)
        (arrived,) = reading.moments
        wanted = places[begin : begin + len(own.values) : every]
        assert np.asarray(arrived.moments_s).tolist() == [10 * place / 1000.0 for place in wanted]
        begin += len(own.values)


def is_line_by_line(text: bytes, lines: int) -> bool:
    """The rule as it is said: each line begins and ends as an object does."""
    own = text.split(b"\n")
    return len(own) == lines and all(line[:1] == b"{" and line[-1:] == b"}" for line in own)


@given(st.lists(st.text("{}\n a", max_size=5), min_size=1, max_size=6))
def test_lines_are_told_as_the_rule_says(lines: list[str]) -> None:
    text = "\n".join(lines).encode()
    assert _is_line_by_line(text, len(lines)) == is_line_by_line(text, len(lines))


@given(st.lists(st.sampled_from([b"{}", b"{a}", b"{", b"}", b"{}\n{}", b"{\n}", b"{} "]), min_size=1, max_size=8))
def test_lines_that_are_nearly_objects_are_told_as_the_rule_says(values: list[bytes]) -> None:
    text = b"\n".join(values)
    assert _is_line_by_line(text, len(values)) == is_line_by_line(text, len(values))
