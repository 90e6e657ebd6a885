"""Kafka: each batch is in the topic once and in order by key, whatever dies; read back by a plain consumer."""

from __future__ import annotations

import json
import pickle
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.app.serialise import graph_to_json
from penstock.block.block import block_of
from penstock.connectors.files.folder_owner import Run
from penstock.connectors.port import BatchId
from penstock.connectors.sinks import kafka_writer
from penstock.connectors.sinks.kafka_writer import Writer, WriterId
from penstock.errors import InputError, OperatorError, StateError
from tests.contract import test_sink_port as contract
from tests.services.kafka_server import KafkaServer

confluent_kafka = pytest.importorskip("confluent_kafka")
SCHEMA = contract.SCHEMA


def topic_of(server: KafkaServer, partitions: int = 3) -> str:
    """A new topic."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    create(server, name, partitions)
    return name


def create(server: KafkaServer, name: str, partitions: int) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    client = AdminClient({"bootstrap.servers": server.servers})
    for created in client.create_topics([NewTopic(name, partitions)]).values():
        created.result(60)


def messages(server: KafkaServer, topic: str) -> list[tuple[str, dict[str, Any]]]:
    """All committed messages of a topic, partition by partition, up to the last stable offsets."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": server.servers, "group.id": uuid.uuid4().hex, "isolation.level": "read_committed",
                "enable.partition.eof": True, "auto.offset.reset": "earliest"}  # fmt: skip
    consumer, found = Consumer(settings), []
    partitions = consumer.list_topics(topic, 60).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    ended: set[int] = set()
    deadline = time.monotonic() + 120
    while len(ended) < len(partitions) and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is not None:
            ended.add(message.partition())
        elif message is not None:
            found.append((message.key().decode(), json.loads(message.value())))
    consumer.close()
    assert len(ended) == len(partitions)
    return found


def numbers(server: KafkaServer, topic: str) -> list[int]:
    return [own["n"] for _, own in messages(server, topic)]


@pytest.mark.parametrize("writers", [1, 2])
@pytest.mark.parametrize("stage", contract.STAGES)
def test_a_driver_that_dies_at_any_stage_loses_and_repeats_nothing(
    kafka: KafkaServer, stage: str, writers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = topic_of(kafka)
    sink = ps.sinks.kafka(kafka.servers, topic, key="key", writers=writers)
    own = contract.Case(lambda folder: sink, lambda folder: numbers(kafka, topic))
    monkeypatch.setitem(contract.CASES, "kafka", own)
    monkeypatch.setattr(contract, "RUN", uuid.uuid4().hex)
    contract.test_a_driver_that_dies_at_any_stage_loses_and_repeats_nothing("kafka", stage, tmp_path)


class Run1:
    """One run of a sink: stages and delivers batches."""

    def __init__(self, server: KafkaServer, folder: Path, **options: Any) -> None:
        self.topic, self.folder, self.run = topic_of(server), folder, uuid.uuid4().hex
        self.sink = ps.sinks.kafka(server.servers, self.topic, key="key", **options)
        self.sink.claim(ps.sinks.Claim("out", Run(self.run, ""), schema=SCHEMA))

    def staged(self, batch: int, values: list[int], *, is_again: bool = False) -> ps.sinks.Delivery:
        part = ps.sinks.Part("out", SCHEMA, BatchId(batch, self.run), 1, 0, batch, self.folder)
        opened = self.sink.open(part)
        table = pa.table({"n": values, "key": [f"k{n % 3}" for n in values]}, schema=SCHEMA)
        self.sink.write(opened, block_of(table, SCHEMA))
        parts = (opened.close(),)
        return ps.sinks.Delivery("out", SCHEMA, part.batch, parts, 1, self.folder, is_again=is_again)


def test_messages_of_a_key_are_in_order(kafka: KafkaServer, tmp_path: Path) -> None:
    run = Run1(kafka, tmp_path, writers=2)
    for batch in range(3):
        run.sink.publish(run.staged(batch, list(range(100 * batch, 100 * batch + 100))))
    by_key: dict[str, list[int]] = {}
    for key, own in messages(kafka, run.topic):
        by_key.setdefault(key, []).append(own["n"])
    assert sorted(n for own in by_key.values() for n in own) == list(range(300))
    assert all(own == sorted(own) for own in by_key.values())


@pytest.mark.parametrize("dies", ["before the marker", "before the commit", "after the commit"])
def test_a_driver_that_dies_within_a_transaction(
    kafka: KafkaServer, tmp_path: Path, dies: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, commit = Run1(kafka, tmp_path, writers=2), Writer.commit

    def dying(writer: Writer, marker: int) -> None:
        if dies != "after the commit":
            writer._producer.flush(60)
            if dies == "before the commit":
                place = writer._place.__class__(run.topic, 0, marker)
                writer._producer.send_offsets_to_transaction([place], writer._group, 60)
            raise contract.Died
        commit(writer, marker)
        raise contract.Died

    delivery = run.staged(0, list(range(20)), is_again=True)
    with monkeypatch.context() as patched:
        patched.setattr(Writer, "commit", dying)
        with pytest.raises(contract.Died):
            run.sink.publish(delivery)
    run.sink.publish(delivery)
    assert sorted(numbers(kafka, run.topic)) == list(range(20))


def test_a_broker_that_is_killed_and_comes_back_loses_and_repeats_nothing(kafka: KafkaServer, tmp_path: Path) -> None:
    run = Run1(kafka, tmp_path)
    run.sink.publish(run.staged(0, [1, 2]))
    kafka.kill()
    kafka.start()
    run.sink.publish(run.staged(1, [3, 4]))
    run.sink.publish(run.staged(0, [1, 2], is_again=True))
    assert sorted(numbers(kafka, run.topic)) == [1, 2, 3, 4]


def test_producers_are_kept_from_batch_to_batch_and_the_next_driver_makes_its_own(
    kafka: KafkaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, made, init = Run1(kafka, tmp_path, writers=2), list[WriterId](), Writer.__init__

    def making(writer: Writer, own: WriterId) -> None:
        made.append(own)
        init(writer, own)

    monkeypatch.setattr(Writer, "__init__", making)
    for batch in range(4):
        run.sink.publish(run.staged(batch, [10 * batch, 10 * batch + 1]))
        run.sink.publish(run.staged(batch, [10 * batch, 10 * batch + 1], is_again=True))
    assert len(made) == 2, "one for each writer"
    later = replace(run.staged(4, [40, 41]), epoch=2)
    run.sink.publish(later)
    assert len(made) == 4
    assert sorted(numbers(kafka, run.topic)) == [0, 1, 10, 11, 20, 21, 30, 31, 40, 41]


def test_a_kept_producer_that_was_overtaken_is_fenced_and_sends_nothing(kafka: KafkaServer, tmp_path: Path) -> None:
    run = Run1(kafka, tmp_path)
    run.sink.publish(run.staged(0, [1]))
    own = WriterId(kafka.servers, run.topic, f"penstock-{run.run}-out-0", 2, ())
    later = Writer(own)  # of a driver in another process
    assert later.marker == 1
    with pytest.raises(StateError, match="sink 'out' was taken over by a later driver"):
        run.sink.publish(run.staged(1, [2]))
    later.close()
    assert numbers(kafka, run.topic) == [1]


def test_a_kept_producer_that_has_grown_old_is_made_anew(
    kafka: KafkaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from confluent_kafka import KafkaError, KafkaException

    run, commit = Run1(kafka, tmp_path), Writer.commit
    run.sink.publish(run.staged(0, [1]))
    ways = iter(["before the commit", "", "after the commit", ""])

    def failing(writer: Writer, marker: int) -> None:
        way = next(ways)
        if way != "before the commit":
            commit(writer, marker)
        if way:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    monkeypatch.setattr(Writer, "commit", failing)
    run.sink.publish(run.staged(1, [10]))
    run.sink.publish(run.staged(2, [20]))
    assert next(ways) == "", "after the commit there was nothing left to send"
    assert sorted(numbers(kafka, run.topic)) == [1, 10, 20]


def test_a_transaction_that_hangs_is_given_up_and_sent_by_another_producer(
    kafka: KafkaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, made = Run1(kafka, tmp_path), list[Any]()

    class Hanging:
        """A producer whose first offsets are sent late, as librdkafka does where a broker died."""

        def __init__(self, settings: dict[str, Any]) -> None:
            self._own = real(settings)
            made.append(self._own)
            self._hangs = len(made) == 1

        def __getattr__(self, name: str) -> Any:
            return getattr(self._own, name)

        def send_offsets_to_transaction(self, *arguments: Any) -> None:
            if self._hangs:
                time.sleep(3.0)
            self._own.send_offsets_to_transaction(*arguments)

    real = confluent_kafka.Producer
    monkeypatch.setattr(confluent_kafka, "Producer", Hanging)
    monkeypatch.setattr(kafka_writer, "_STUCK_S", 1.0)
    run.sink.publish(run.staged(0, [1, 2]))
    run.sink.publish(run.staged(1, [3]))
    time.sleep(2.0)  # the first producer goes on, and is fenced
    assert len(made) == 2
    assert sorted(numbers(kafka, run.topic)) == [1, 2, 3]


def test_a_driver_that_was_overtaken_is_fenced_by_the_broker(kafka: KafkaServer, tmp_path: Path) -> None:
    run = Run1(kafka, tmp_path)
    late = run.staged(0, [1])

    def overtaken() -> None:
        calls.append(1)
        if len(calls) == 2:  # the older driver has sent its messages, and not committed yet
            run.sink.publish(late)

    calls: list[int] = []
    delivery = ps.sinks.Delivery("out", SCHEMA, late.batch, late.parts, 1, tmp_path, fence=overtaken)
    with pytest.raises(StateError, match="sink 'out' was taken over by a later driver"):
        run.sink.publish(delivery)
    assert numbers(kafka, run.topic) == [1]


def test_a_marker_that_has_expired_while_a_batch_is_in_doubt_stops_the_application(
    kafka: KafkaServer, tmp_path: Path
) -> None:
    from confluent_kafka.admin import AdminClient

    run = Run1(kafka, tmp_path)
    delivery = run.staged(0, [1], is_again=True)
    client = AdminClient({"bootstrap.servers": kafka.servers})
    for deleted in client.delete_consumer_groups([f"penstock-{run.run}-out-0"]).values():
        deleted.result(60)
    with pytest.raises(StateError, match=r"cannot tell whether batch 0 is in topic .* has expired"):
        run.sink.publish(delivery)
    assert numbers(kafka, run.topic) == []


def test_a_topic_that_is_not_there_is_told_at_the_start(kafka: KafkaServer) -> None:
    claim = ps.sinks.Claim("out", Run("run", ""), schema=SCHEMA)
    with pytest.raises(InputError, match="to the topic 'nowhere', which Kafka does not have; create it first"):
        ps.sinks.kafka(kafka.servers, "nowhere").claim(claim)


def test_secrets_are_nowhere_but_in_the_driver(kafka: KafkaServer) -> None:
    sink = ps.sinks.kafka(kafka.servers, "t", options={"sasl.password": "very-secret"})
    app = ps.Application("secret")
    app.source("in", schema=SCHEMA).sink("out", sink)
    seen = [repr(sink), pickle.dumps(sink).decode("latin1"), graph_to_json(app.graph)]
    assert not any("very-secret" in text for text in seen)
    assert sink.options["sasl.password"] == "very-secret"


def test_the_errors_of_a_broker_are_one_sentence(kafka: KafkaServer, tmp_path: Path) -> None:
    run = Run1(kafka, tmp_path)
    long = run.staged(0, [1])
    sink = ps.sinks.kafka(kafka.servers, run.topic, key="key", options={"transaction.timeout.ms": "999999999"})
    with pytest.raises(OperatorError, match=r"sink 'out' cannot write to the topic 't-\w+' of Kafka: "):
        sink.publish(long)
