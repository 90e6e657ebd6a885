"""The how-to pages of Kafka and PostgreSQL do what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.checkout import ROOT
from tests.services.kafka_server import KafkaServer
from tests.services.postgres_server import PostgresServer
from tests.services.test_kafka import create, messages


def run(page: str) -> dict[str, Any]:
    """Runs the program of a page, and gives its names."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "how-to" / page).read_text(), re.M | re.S)
    names: dict[str, Any] = {"__name__": "document"}
    exec(compile(code, page, "exec"), names)
    return names


def test_postgres(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    postgres.query("create table latest_prices (ticker text primary key, price float)")
    monkeypatch.setenv("PRICES_DSN", postgres.dsn)
    run("postgres.md")
    assert postgres.query("select * from latest_prices order by ticker") == [["ABC", "9"], ["IBM", "11"]]


def test_kafka(kafka: KafkaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    create(kafka, "dear-prices", 2)
    monkeypatch.setenv("KAFKA_SERVERS", kafka.servers)
    run("kafka.md")
    assert messages(kafka, "dear-prices") == [("IBM", {"ticker": "IBM", "price": 10.5})]
