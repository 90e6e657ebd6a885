"""A task without Spark: what it does with the messages that come to it."""

from __future__ import annotations

import sys

from penstock.runtime.exchange import message
from penstock.runtime.exchange.message import Message
from penstock.runtime.replica.task import taken_blocks


def test_a_payload_is_given_back_once_its_tuples_are_through() -> None:
    """What is kept to the end is unmapped in the next task of the process, and counts as that one's CPU."""
    messages = [Message(0, 1, kind, "s", place, bytes(9))
                for place, kind in enumerate([message.BLOCK, message.FRONTIER, message.BLOCK])]  # fmt: skip
    alone = sys.getrefcount(object())
    for m in taken_blocks(messages):
        assert sys.getrefcount(m) <= alone + 1
    assert [m.kind for m in messages] == [message.FRONTIER]
