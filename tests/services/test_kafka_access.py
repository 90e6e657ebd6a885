"""A broker that asks for a name and a password: who has them reads and writes, who has not is told so soon."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import pytest

import penstock as ps
from penstock.connectors.files.folder_owner import Run
from penstock.connectors.planned import client_options
from penstock.errors import OperatorError
from tests.contract.test_sink_port import SCHEMA
from tests.services.kafka_server import KafkaServer
from tests.services.stream_driver import OPTIONS
from tests.services.test_kafka import topic_of
from tests.services.test_kafka_source import send
from tests.unit.connectors.test_kafka_source import Read, numbers, objects

WRONG = {**OPTIONS, "sasl.password": "forgotten"}


def test_with_the_password_a_topic_is_read_and_written(kafka: KafkaServer, tmp_path: Path) -> None:
    topic = topic_of(kafka, 1)
    send(kafka, topic, objects(1, 2))
    read = Read(ps.sources.kafka(kafka.sasl_servers, topic, options=OPTIONS), tmp_path)
    client_options.keep(str(read.path), OPTIONS)  # as a start does
    assert numbers(read.batch()) == [1, 2]
    sink = ps.sinks.kafka(kafka.sasl_servers, topic, options=OPTIONS)
    sink.claim(ps.sinks.Claim("out", Run(uuid.uuid4().hex, ""), schema=SCHEMA))


def test_a_source_with_a_wrong_password_is_not_waited_for(kafka: KafkaServer, tmp_path: Path) -> None:
    topic, begin_s = topic_of(kafka, 1), time.monotonic()
    read = Read(ps.sources.kafka(kafka.sasl_servers, topic, options=WRONG), tmp_path)
    client_options.keep(str(read.path), WRONG)
    with pytest.raises(OperatorError, match=r"does not let this application in: .*[Aa]uthentication") as raised:
        _asked(read, begin_s + 40)
    assert time.monotonic() - begin_s < 30
    assert "forgotten" not in str(raised.value)
    client_options.keep(str(read.path), OPTIONS)  # the user corrects it, and starts again in the same process
    assert read.batch() == []


def test_a_sink_with_a_wrong_password_is_not_waited_for(kafka: KafkaServer) -> None:
    topic, begin_s = topic_of(kafka, 1), time.monotonic()
    sink = ps.sinks.kafka(kafka.sasl_servers, topic, options=WRONG)
    with pytest.raises(OperatorError, match=r"sink 'out' cannot write to the topic .*[Aa]uthentication"):
        sink.claim(ps.sinks.Claim("out", Run(uuid.uuid4().hex, ""), schema=SCHEMA))
    assert time.monotonic() - begin_s < 30


def _asked(read: Read, until_s: float) -> None:
    """Asks for a batch again and again, as Spark does."""
    while time.monotonic() < until_s:
        read.batch()
