"""Servers that the tests start on loopback; without PENSTOCK_SERVICES=1 nothing here runs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.services.kafka_server import JARS, KafkaServer
from tests.services.postgres_server import PostgresServer, postgres_binaries


def _check_enabled() -> None:
    if os.environ.get("PENSTOCK_SERVICES") != "1":
        pytest.skip("needs servers: make services-test")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    _check_enabled()
    if postgres_binaries() is None:
        pytest.skip("PostgreSQL is not installed: apt install postgresql")
    server = PostgresServer()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    _check_enabled()
    if not any(JARS.glob("kafka_*.jar")):
        pytest.skip("Kafka's jars are not there: make services")
    server = KafkaServer()
    try:
        yield server
    finally:
        server.stop()
