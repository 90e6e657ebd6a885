"""A consumer that stands before a range goes on, unless what lies between takes longer than going elsewhere."""

from __future__ import annotations

import pytest

from penstock.connectors.kafka.consumers import OpenConsumer


@pytest.mark.parametrize(
    ("message_bytes", "begin", "goes_on"),
    [(0, 10, True), (0, 4_000, True), (0, 5_000, False), (100, 4_000, True), (40_000, 20, True), (40_000, 40, False),
     (40_000, 9, False)],
)  # fmt: skip
def test_it_reads_over_few_messages_and_few_bytes(message_bytes: int, begin: int, goes_on: bool) -> None:
    own = OpenConsumer({})
    own.partition, own.position, own.known_to, own.message_bytes = ("t", 0), 10, 10, message_bytes
    assert own.stands_before(("t", 0), begin) is goes_on
    assert not own.stands_before(("t", 1), begin)
