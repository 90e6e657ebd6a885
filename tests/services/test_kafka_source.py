"""Kafka as a source on a real broker: transactions, new partitions, deletion, retention, a broker that is killed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.connectors.kafka import broker as broker_module
from penstock.connectors.kafka.consumers import consumers_of
from penstock.errors import InputError, OperatorError
from tests.services.kafka_server import KafkaServer
from tests.services.test_how_to import run
from tests.services.test_kafka import create, messages, topic_of
from tests.unit.connectors.test_kafka_source import Read, numbers, objects


def admin(server: KafkaServer) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": server.servers})


def done(server: KafkaServer, ask: Callable[[Any], dict[Any, Any]]) -> None:
    """Waits until the broker has done something; its client lives that long."""
    client = admin(server)
    for future in ask(client).values():
        future.result(60)


def send(server: KafkaServer, topic: str, values: list[bytes], partition: int = 0, **options: Any) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": server.servers, **options})
    for value in values:
        producer.produce(topic, value, partition=partition, key=b"k")
    assert producer.flush(60) == 0


def in_transaction(server: KafkaServer, topic: str, values: list[bytes], *, commits: bool | None) -> Any:
    """A transaction that is committed, aborted or (None) left open; its producer."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": server.servers, "transactional.id": f"{topic}-{values[0]!r}"})
    producer.init_transactions(60)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(60) == 0
    if commits is not None:
        (producer.commit_transaction if commits else producer.abort_transaction)(60)
    return producer


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "_FRESH_S", 0.0)
    monkeypatch.setattr(broker_module, "_LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(broker_module, "_GONE_S", 2.0)


def test_only_committed_messages_are_read_up_to_the_last_stable_offset(kafka: KafkaServer, tmp_path: Path) -> None:
    topic = topic_of(kafka, 1)
    in_transaction(kafka, topic, objects(1, 2), commits=True)
    in_transaction(kafka, topic, objects(90, 91), commits=False)
    in_transaction(kafka, topic, objects(3), commits=True)
    read = Read(ps.sources.kafka(kafka.servers, topic), tmp_path)
    seen = list[int]()
    for _ in range(8):  # some ranges hold control records and aborted messages alone
        seen += numbers(read.batch(most=2))
    assert seen == [1, 2, 3]
    assert read.source.backlog(read.offset, read.path) == 0.0
    producer = in_transaction(kafka, topic, objects(4), commits=None)
    send(kafka, topic, objects(5))
    assert read.batch() == []
    producer.commit_transaction(60)
    assert numbers(read.batch()) == [4, 5]
    assert read.letters == []


def test_a_topic_that_grows_and_one_that_is_made_again(kafka: KafkaServer, tmp_path: Path) -> None:
    from confluent_kafka.admin import NewPartitions

    topic = topic_of(kafka, 4)
    for partition in range(4):
        send(kafka, topic, objects(partition), partition)
    read = Read(ps.sources.kafka(kafka.servers, topic), tmp_path)
    assert numbers(read.batch()) == [0, 1, 2, 3]
    done(kafka, lambda client: client.create_partitions([NewPartitions(topic, 12)]))
    for partition in range(12):
        send(kafka, topic, objects(100 + partition), partition)
    seen, deadline_s = list[int](), time.monotonic() + 60
    while len(seen) < 12 and time.monotonic() < deadline_s:
        seen += numbers(read.batch())
    assert sorted(seen) == list(range(100, 112))
    done(kafka, lambda client: client.delete_topics([topic]))
    _wait_until_gone(kafka, topic)
    _until_refused(read, "is not there any more")
    create(kafka, topic, 12)
    _until_refused(read, "was deleted and made again: its id was")


def _until_refused(read: Read, sentence: str) -> None:
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        try:
            assert read.batch() == []
        except InputError as error:
            if sentence in str(error):
                return
        time.sleep(0.2)
    raise AssertionError(f"nobody said: {sentence}")


def _wait_until_gone(server: KafkaServer, topic: str) -> None:
    client, deadline_s = admin(server), time.monotonic() + 60
    while topic in client.list_topics(timeout=30).topics:
        assert time.monotonic() < deadline_s
        time.sleep(0.2)


def _delete_before(server: KafkaServer, topic: str, offset: int) -> None:
    """What retention does."""
    from confluent_kafka import TopicPartition

    done(server, lambda client: client.delete_records([TopicPartition(topic, 0, offset)]))


def test_retention_that_overtakes_the_reader(kafka: KafkaServer, tmp_path: Path) -> None:
    topic = topic_of(kafka, 1)
    send(kafka, topic, objects(*range(10)))
    failing = Read(ps.sources.kafka(kafka.servers, topic), tmp_path / "failing")
    going_on = Read(ps.sources.kafka(kafka.servers, topic, on_expired="dead_letter"), tmp_path / "going_on")
    for read in (failing, going_on):
        assert numbers(read.batch(most=3)) == [0, 1, 2]
    _delete_before(kafka, topic, 6)
    with pytest.raises(
        OperatorError, match=f"offsets 3 to 5 of partition 0 of the topic '{topic}' have expired before"
    ):
        failing.batch()
    consumers_of(kafka.servers, str(going_on.path)).close_idle(0.0)  # which have read ahead what is gone since
    assert numbers(going_on.batch()) == [6, 7, 8, 9]
    row = {"topic": topic, "partition": 0, "first_offset": 3, "last_offset": 5}
    assert going_on.letters[0] == ("has lost messages whose offsets had expired", row)


def test_arrivals_are_append_times_where_the_topic_has_them(kafka: KafkaServer, tmp_path: Path) -> None:
    from confluent_kafka.admin import NewTopic

    topic = f"appended-{time.time_ns()}"
    new = NewTopic(topic, 1, config={"message.timestamp.type": "LogAppendTime"})
    done(kafka, lambda client: client.create_topics([new]))
    send(kafka, topic, objects(1))
    read = Read(ps.sources.kafka(kafka.servers, topic), tmp_path)
    read.batch()
    assert read.reading.moments[0].latency_from == "append"


def test_a_broker_that_is_killed_is_waited_for_and_nothing_is_lost(kafka: KafkaServer, tmp_path: Path) -> None:
    topic, out = topic_of(kafka, 4), topic_of(kafka, 4)
    app = ps.Application("through")
    numbers_ = app.source("numbers", ps.sources.kafka(kafka.servers, topic), {"n": "int64", "word": "symbol"})
    numbers_.functor("all", emit={"n": "n", "word": "word"}).sink("out", ps.sinks.kafka(kafka.servers, out, key="word"))
    handle = ps.start(app, master="local[2]", checkpoint=tmp_path / "c")
    try:
        for round_ in range(3):
            for partition in range(4):
                first = 1000 * round_ + 100 * partition
                send(kafka, topic, objects(*range(first, first + 50)), partition)
            handle.wait(1.0)
            if round_ == 1:
                kafka.kill()
                handle.wait(2.0)
                kafka.start()
        _until_taken(handle, 600)
    finally:
        handle.stop()
    wanted = [1000 * r + 100 * p + i for r in range(3) for p in range(4) for i in range(50)]
    assert sorted(own["n"] for _, own in messages(kafka, out)) == sorted(wanted)


def _until_taken(handle: Any, tuples: int) -> None:
    deadline_s = time.monotonic() + 180
    while sum(own.tuples_out for own in handle.result.observations) < tuples:
        assert time.monotonic() < deadline_s
        handle.wait(0.2)
        handle.observe()


def test_the_how_to(kafka: KafkaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    create(kafka, "trades", 2)
    values = [json.dumps({"ticker": "IBM", "price": price}).encode() for price in (9.0, 10.5)]
    send(kafka, "trades", values, partition=1)
    monkeypatch.setenv("KAFKA_SERVERS", kafka.servers)
    assert run("read-from-kafka.md")["rows"] == [{"ticker": "IBM", "price": 10.5, "partition": 1, "offset": 1}]
