"""Kafka by Spark's own connector: what the hint says, what is read, and what waits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from benchmarks.spark.kafka.stock import connector_jars
from penstock.spark.sources.kafka_hint import kafka_hint
from penstock.testing import local_session
from tests.services.kafka_server import KafkaServer
from tests.services.test_kafka import topic_of
from tests.services.test_kafka_source import in_transaction, send
from tests.unit.connectors.test_kafka_source import objects


@pytest.fixture(scope="module")
def session(kafka: KafkaServer) -> Iterator[Any]:
    found = connector_jars(lambda text: None)
    if isinstance(found, str):
        pytest.skip(found)
    jars, _ = found
    with local_session(conf={"spark.jars": ",".join(map(str, jars))}) as session:
        yield session


def frame_of(session: Any, server: KafkaServer, topic: str, **options: str) -> Any:
    reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", server.servers)
    return reader.option("subscribe", topic).option("startingOffsets", "earliest").options(**options).load()


@pytest.mark.long
def test_a_dataframe_of_committed_messages_alone_has_no_hint(session: Any, kafka: KafkaServer) -> None:
    topic = topic_of(kafka, 1)
    committed = {"kafka.isolation.level": "read_committed"}
    assert kafka_hint(frame_of(session, kafka, topic, **committed).select("value"), "in") is None
    assert kafka_hint(session.readStream.format("rate").load(), "in") is None
    hint = kafka_hint(frame_of(session, kafka, topic).select("value"), "in")
    assert hint is not None
    assert "source 'in' is a DataFrame from Kafka that also reads messages of transactions which were aborted" in hint


@pytest.mark.long
def test_committed_messages_are_read_once_and_what_waits_is_known(
    session: Any, kafka: KafkaServer, tmp_path: Path
) -> None:
    topic = topic_of(kafka, 1)
    frame = frame_of(
        session, kafka, topic, **{"kafka.isolation.level": "read_committed", "maxOffsetsPerTrigger": "50"}
    ).selectExpr("from_json(string(value), 'n long') own").select("own.n")  # fmt: skip
    in_transaction(kafka, topic, objects(*range(1000, 1010)), commits=False)
    send(kafka, topic, objects(*range(400)))
    app = ps.Application("through")
    app.source("numbers", ps.sources.dataframe(frame)).sink("out", ps.sinks.memory())
    handle = ps.start(app, session=session, checkpoint=tmp_path / "c")
    deadline_s = time.monotonic() + 90
    try:
        while sum(own.tuples_out for own in handle.result.observations) < 400 and time.monotonic() < deadline_s:
            handle.wait(0.1)
            handle.observe()
    finally:
        tables = handle.stop().tables
    assert tables["out"]["n"].to_pylist() == list(range(400))
    waiting = [own.backlog_tuples for own in handle.result.observations if own.tuples_in]
    assert any(own is not None and own > 0 for own in waiting[:-1])
    assert waiting[-1] is not None
    assert waiting[-1] < 50
