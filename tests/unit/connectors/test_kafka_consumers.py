"""A consumer that stands before a range goes on, unless what lies between takes longer than going elsewhere."""

from __future__ import annotations

import pytest

from penstock.connectors.kafka.consumers import Consumers, OpenConsumer
from penstock.connectors.kafka.places import Partition


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


def test_a_consumer_whose_partition_another_process_reads_is_sent_ahead_once(monkeypatch: pytest.MonkeyPatch) -> None:
    went = list[tuple[Partition, int]]()

    def go_to(own: OpenConsumer, partition: Partition, begin: int) -> None:
        own.partition, own.position, own.known_to = partition, begin, begin
        went.append((partition, begin))

    monkeypatch.setattr(OpenConsumer, "go_to", go_to)
    consumers, partition = Consumers({}), ("t", 0)
    for begin in (10, 20, 30):
        consumers.prepare(partition, begin)
    assert went == [(partition, 10)]
    with consumers.lent(partition):
        pass
    consumers.prepare(partition, 40)
    assert went == [(partition, 10), (partition, 40)]
    assert not consumers.close_idle(0.0)
