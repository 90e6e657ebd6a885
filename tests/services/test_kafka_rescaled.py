"""Replicas that change, and a topic that grows, while it is read and another topic written."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from tests.services.kafka_server import KafkaServer
from tests.services.test_kafka import messages, topic_of
from tests.services.test_kafka_source import done, send

EACH = 300  # tuples between two changes


def application(server: KafkaServer, topic: str, out: str) -> ps.Application:
    app = ps.Application("counted")
    numbers = app.source("numbers", ps.sources.kafka(server.servers, topic), {"n": "int64", "key": "symbol"})
    window = ps.sliding(count=4, every=1, per_group=True)
    emit = {"n": "last(n)", "key": "any(key)", "seen": "count()"}
    windows = numbers.aggregate("windows", by="key", window=window, emit=emit)
    windows.sink("out", ps.sinks.kafka(server.servers, out, key="key"))
    return app


def sent(server: KafkaServer, topic: str, first: int, partitions: int) -> list[tuple[int, str]]:
    """Tuples of three keys of each partition, which stay in it: a topic that grew has new keys."""
    rows = [(n, f"{partitions}-{n % (3 * partitions)}") for n in range(first, first + EACH)]
    for partition in range(partitions):
        own = [row for row in rows if int(row[1].partition("-")[2]) % partitions == partition]
        send(server, topic, [json.dumps({"n": n, "key": key}).encode() for n, key in own], partition)
    return rows


def until_taken(handle: Any, tuples: int) -> None:
    deadline_s = time.monotonic() + 120
    while sum(own.tuples_out for own in handle.result.observations) < tuples:
        assert time.monotonic() < deadline_s
        handle.wait(0.1)
        handle.observe()


@pytest.mark.long
def test_nothing_is_lost_or_repeated_while_replicas_change_and_a_topic_grows(
    kafka: KafkaServer, tmp_path: Path
) -> None:
    from confluent_kafka.admin import NewPartitions

    topic, out = topic_of(kafka, 4), topic_of(kafka, 4)
    app = application(kafka, topic, out)
    first = replace(ps.Configuration.of(app, replicas=4), micro_batch_tuples=100)
    handle = ps.start(app, master="local[2]", checkpoint=tmp_path / "c", configuration=first)
    rows = list[tuple[int, str]]()
    try:
        for replicas, partitions in ((4, 4), (1, 4), (8, 4), (8, 12)):
            if partitions == 12:
                done(kafka, lambda client: client.create_partitions([NewPartitions(topic, 12)]))
            before = len(rows)
            rows += sent(kafka, topic, before, partitions)
            until_taken(handle, before + 100)
            handle.apply(handle.configuration.with_replicas("windows", replicas))
        until_taken(handle, len(rows))
    finally:
        handle.stop()
    found, wanted = defaultdict[str, list[tuple[int, int]]](list), defaultdict[str, list[tuple[int, int]]](list)
    for key, own in messages(kafka, out):
        found[key].append((own["n"], own["seen"]))
    for n, key in rows:
        wanted[key].append((n, min(len(wanted[key]) + 1, 4)))
    assert found == wanted
