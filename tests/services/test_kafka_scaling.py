"""A topic is read while the replicas change and its partitions grow: every message once, and in order by key."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.plan.configuration import Configuration
from tests.services.kafka_server import KafkaServer
from tests.services.test_kafka import messages, topic_of
from tests.services.test_kafka_source import done

TOTAL, KEYS = 6_000, 24


class Feeder(threading.Thread):
    """Sends numbers at a rate; those of a key to one partition, at first of four, from `grown` on of twelve."""

    def __init__(self, server: KafkaServer, topic: str) -> None:
        super().__init__(daemon=True)
        self._servers, self._topic, self.grown = server.servers, topic, threading.Event()
        self.sent: dict[str, list[int]] = {}

    def run(self) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self._servers, "enable.idempotence": True, "log_level": 0})
        for n in range(TOTAL):
            partitions = 12 if self.grown.is_set() else 4
            number = n % KEYS
            key = f"k{number}-{partitions}"  # a key that changed its partition would lose its order
            self.sent.setdefault(key, []).append(n)
            value = json.dumps({"n": n, "key": key})
            producer.produce(self._topic, value, partition=number % partitions, key=key)
            producer.poll(0.003)
        assert producer.flush(60) == 0


def test_replicas_go_from_4_to_1_to_8_while_a_topic_grows_from_4_to_12_partitions(
    kafka: KafkaServer, tmp_path: Path
) -> None:
    from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

    topic, out = topic_of(kafka, 4), topic_of(kafka, 4)
    app = ps.Application("scaled")
    numbers = app.source("numbers", ps.sources.kafka(kafka.servers, topic), {"n": "int64", "key": "symbol"})
    emit = {"n": "last(n)", "key": "any(key)", "seen": "count()", "first": "min(n)"}
    windows = numbers.aggregate("windows", by="key", window=ps.sliding(count=3, every=1, per_group=True), emit=emit)
    windows.sink("out", ps.sinks.kafka(kafka.servers, out, key="key"))
    configuration = replace(Configuration.of(app, replicas=4), micro_batch_tuples=400)
    handle = ps.start(app, master="local[2,16]", checkpoint=tmp_path / "c", configuration=configuration)
    feeder = Feeder(kafka, topic)
    feeder.start()
    try:
        _until(handle, TOTAL // 6)
        handle.apply(_with(configuration, 1))
        _until(handle, TOTAL // 3)
        done(kafka, lambda client: client.create_partitions([NewPartitions(topic, 12)]))
        feeder.grown.set()
        handle.apply(_with(configuration, 8))
        feeder.join()
        _until(handle, TOTAL)
    finally:
        seen = handle.stop().observations
    by_key: dict[str, list[Any]] = {}
    for key, own in messages(kafka, out):
        by_key.setdefault(key, []).append((own["n"], own["seen"], own["first"]))
    wanted = {
        key: [(n, min(i + 1, 3), own[max(i - 2, 0)]) for i, n in enumerate(own)] for key, own in feeder.sent.items()
    }
    assert by_key == wanted
    assert len({key[-2:] for key in wanted}) == 2, "messages came before and after the topic grew"
    replicas = [len(own.replicas_by_element["windows"]) for own in seen if "windows" in own.replicas_by_element]
    assert [count for place, count in enumerate(replicas) if replicas[place - 1 : place] != [count]] == [4, 1, 8]


def _with(configuration: Configuration, replicas: int) -> Configuration:
    for element in configuration.elements:
        configuration = configuration.with_replicas(element.name, replicas)
    return configuration


def _until(handle: Any, tuples: int) -> None:
    deadline_s = time.monotonic() + 200
    while sum(own.tuples_in for own in handle.result.observations) < tuples:
        assert time.monotonic() < deadline_s
        handle.wait(0.1)
        handle.observe()
