"""Ranges of a real log, read by several threads that share their consumers: what a plain consumer reads there."""

from __future__ import annotations

import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.kafka import consumers as consumers_module
from penstock.connectors.kafka.consumers import Consumers
from penstock.connectors.kafka.places import OffsetRange
from penstock.connectors.kafka.range_reader import RangeReader
from tests.services.kafka_server import KafkaServer
from tests.services.test_kafka import topic_of
from tests.services.test_kafka_source import done, in_transaction, send

PARTITIONS = 3
Log = dict[int, list[tuple[int, bytes]]]  # by partition, offsets and values


def log_of(server: KafkaServer, topic: str) -> tuple[Log, dict[int, int]]:
    """All that is committed, and the end of each partition: read once from the beginning by a client of its own."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": server.servers, "group.id": uuid.uuid4().hex, "isolation.level": "read_committed",
                "enable.partition.eof": True, "auto.offset.reset": "earliest"}  # fmt: skip
    consumer, found, ends = Consumer(settings), Log(), dict[int, int]()
    partitions = list(consumer.list_topics(topic, 60).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    while len(ends) < len(partitions):
        message: Any = consumer.poll(60.0)
        if message.error() is not None:
            ends[message.partition()] = message.offset()
        else:
            found.setdefault(message.partition(), []).append((message.offset(), message.value()))
    consumer.close()
    return found, ends


def filled(server: KafkaServer, rng: random.Random) -> str:
    """A topic with messages of transactions that were committed and aborted, and of none."""
    topic = topic_of(server, PARTITIONS)
    for piece in range(24):
        values = [f"{piece}-{n}".encode() for n in range(rng.randrange(1, 400))]
        if rng.random() < 0.4:
            in_transaction(server, topic, values, commits=rng.random() < 0.5)
        else:
            send(server, topic, values, partition=rng.randrange(PARTITIONS))
    return topic


def read(server: KafkaServer, own: OffsetRange, *, prepares: bool) -> list[tuple[int, bytes]]:
    reader = RangeReader(server.servers, "place", 60.0, may_expire=False)
    if prepares:
        reader.prepare(own.topic, (own.partition + 1) % PARTITIONS, own.begin // 2)
    return [(event.offset(), event.value()) for events in reader.read(own) for event in events]  # type: ignore[misc]


@pytest.mark.parametrize("kept", [0, pytest.param(2, marks=pytest.mark.long), 24])
def test_ranges_of_any_kind_are_whole_also_while_the_broker_dies(
    kafka: KafkaServer, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(kept)
    topic = filled(kafka, rng)
    log, ends = log_of(kafka, topic)
    pool = Consumers({"bootstrap.servers": kafka.servers}, kept)
    monkeypatch.setattr("penstock.connectors.kafka.range_reader.consumers_of", lambda servers, place: pool)
    monkeypatch.setattr(consumers_module, "_LONGEST_SKIP", 300)

    def one(number: int) -> None:
        own = random.Random(f"{kept} {number}")
        partition = own.randrange(PARTITIONS)
        begin = own.randrange(ends[partition])
        end = min(begin + own.choice([1, 7, 300, 5_000]), ends[partition])
        found = read(kafka, OffsetRange(topic, partition, partition, begin, end), prepares=own.random() < 0.3)
        assert found == [row for row in log.get(partition, []) if begin <= row[0] < end], (partition, begin, end)

    with ThreadPoolExecutor(4) as threads:
        first = [threads.submit(one, number) for number in range(80)]
        for future in first:
            future.result()
        if kept == 2:
            rest = [threads.submit(one, number) for number in range(80, 120)]
            kafka.kill()
            kafka.start()
            for future in rest:
                future.result()
    pool.close_idle(0.0)


@pytest.mark.long
def test_holes_of_a_compacted_topic_are_no_loss(
    kafka: KafkaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from confluent_kafka import Producer
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

    topic = f"compacted-{uuid.uuid4().hex[:8]}"
    settings = {"cleanup.policy": "compact", "segment.ms": "200", "min.cleanable.dirty.ratio": "0.01",
                "max.compaction.lag.ms": "200", "min.compaction.lag.ms": "0"}  # fmt: skip
    done(kafka, lambda client: client.create_topics([NewTopic(topic, 1, config=settings)]))
    producer = Producer({"bootstrap.servers": kafka.servers})
    holes, deadline_s = 0, time.monotonic() + 60
    while not holes and time.monotonic() < deadline_s:
        for n in range(60):
            producer.produce(topic, f"{n}".encode(), key=f"k{n % 7}")
        assert producer.flush(60) == 0
        time.sleep(0.5)
        log, ends = log_of(kafka, topic)
        holes = ends[0] - len(log[0])
    assert holes, "the broker has compacted nothing"
    pool = Consumers({"bootstrap.servers": kafka.servers}, 1)
    monkeypatch.setattr("penstock.connectors.kafka.range_reader.consumers_of", lambda servers, place: pool)
    rng = random.Random(5)
    for _ in range(40):
        begin = rng.randrange(ends[0])
        end = min(begin + rng.choice([1, 5, 100]), ends[0])
        newest, _ = log_of(kafka, topic)  # more may have gone since
        found = read(kafka, OffsetRange(topic, 0, 0, begin, end), prepares=False)
        there = [row for row in log[0] if begin <= row[0] < end]
        assert [row for row in newest[0] if begin <= row[0] < end] == [row for row in found if row in newest[0]]
        assert set(found) <= set(there)
    pool.close_idle(0.0)
