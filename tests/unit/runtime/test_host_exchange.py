"""Payloads go from task to task through files of a host, and are what they were."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.errors import StateFileError
from penstock.runtime.exchange import host_exchange, message
from penstock.runtime.exchange.host_exchange import LARGE_BYTES, HostExchange, arrived
from penstock.runtime.exchange.message import Message, batch_of, messages_of


def large(element: int, number: int, size: int = LARGE_BYTES) -> Message:
    return Message(0, element, message.BLOCK, f"s{number}", number, pa.py_buffer(bytes([number % 256]) * size))


def through_spark(messages: list[Message]) -> list[Message]:
    return [found for m in messages for found in messages_of(batch_of([m]))]


def plain(messages: list[Message]) -> list[tuple[int, str, str, int, bytes]]:
    return [(m.element, m.kind, m.name, m.sequence, bytes(memoryview(m.payload))) for m in messages]


def test_large_payloads_arrive_and_spark_carries_their_places(tmp_path: Path) -> None:
    given = [large(1, 1), large(1, 2, 5), large(2, 3), large(message.RESULT, 4), large(1, 5, LARGE_BYTES + 7)]
    sent = through_spark(list(HostExchange(str(tmp_path), "0-7").outward(given)))
    assert [len(m.payload) < 100 for m in sent] == [True, True, True, False, True]
    at_one = list(arrived(sent, 1, str(tmp_path)))
    on = through_spark(list(HostExchange(str(tmp_path), "1-8").outward(m for m in at_one if m.element != 1)))
    at_two = list(arrived(on, 2, str(tmp_path)))
    assert plain([m for m in at_one if m.element == 1]) == plain([m for m in given if m.element == 1])
    assert plain([m for m in at_two if m.element == 2]) == plain([m for m in given if m.element == 2])
    assert plain([m for m in at_two if m.element == message.RESULT]) == plain([given[3]])


def test_what_was_read_is_good_when_the_files_are_gone(tmp_path: Path) -> None:
    sent = list(HostExchange(str(tmp_path), "0-7").outward([large(1, 1)]))
    (found,) = arrived(sent, 1, str(tmp_path))
    (tmp_path / "0-7-1").unlink()
    assert plain([found]) == plain([large(1, 1)])


def test_without_room_spark_carries_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, calls = os.write, []

    def fails_at_last(descriptor: int, data: memoryview) -> int:
        calls.append(len(data))
        if len(calls) > 2:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[: LARGE_BYTES - 9])  # a part of it, first

    monkeypatch.setattr(host_exchange.os, "write", fails_at_last)
    given = [large(1, 1), large(1, 2), large(1, 3)]
    sent = through_spark(list(HostExchange(str(tmp_path), "0-7").outward(given)))
    assert [len(m.payload) < 100 for m in sent] == [True, False, False]
    assert plain(list(arrived(sent, 1, str(tmp_path)))) == plain(given)


def test_a_folder_that_is_gone_is_no_reason_to_fail_a_sender_but_a_reader(tmp_path: Path) -> None:
    sent = list(HostExchange(str(tmp_path), "0-7").outward([large(1, 1)]))
    assert plain(list(HostExchange(str(tmp_path / "gone"), "0-8").outward([large(1, 1)]))) == plain([large(1, 1)])
    (tmp_path / "0-7-1").unlink()
    with pytest.raises(StateFileError, match="reading tuples from"):
        list(arrived(sent, 1, str(tmp_path)))
    with pytest.raises(ValueError, match="told no folder"):
        list(arrived(sent, 1, None))
