"""A topic of Kafka on Spark: tasks read ranges themselves, with settings that are stored nowhere."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors.kafka.broker import Broker
from penstock.connectors.planned import client_options
from tests.unit.connectors.test_kafka_source import Mock, objects

pytest.importorskip("confluent_kafka")
SECRET = "a-secret-client"


def with_settings(block: pa.RecordBatch) -> pa.RecordBatch:
    """The tuples of a task, with a setting of a source that it was given."""
    places = client_options._by_place  # those of sources of earlier tests in the driver's process, too
    (own,) = [settings for place, settings in places.items() if place.endswith("numbers")]
    return pa.RecordBatch.from_pydict({"n": block.column("n"), "client": [own["client.id"]] * block.num_rows})


def test_all_messages_come_once_over_a_restart_and_settings_are_stored_nowhere(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Broker, "_ids", lambda self, names: dict.fromkeys(names, "an-id"))
    mock, topic = Mock(), "numbers"
    app = ps.Application("reads_kafka")
    source = ps.sources.kafka(mock.servers, topic, options={"client.id": SECRET})
    numbers = app.source("numbers", source, {"n": "int64", "word": "symbol"})
    numbers.map("with_settings", with_settings, {"n": "int64", "client": "string"}).sink("out", ps.sinks.memory())
    seen, clients = list[int](), set[str]()
    for start in range(2):
        for partition in range(4):
            mock.send(
                topic, objects(*range(1000 * start + 100 * partition, 1000 * start + 100 * partition + 50)), partition
            )
        handle = ps.start(app, session=session, checkpoint=tmp_path / "c", goal=ps.latency(p95_ms=60_000), passive=True)
        deadline_s = time.monotonic() + 120
        while sum(own.tuples_out for own in handle.result.observations) < 200 and time.monotonic() < deadline_s:
            handle.wait(0.2)
            handle.observe()
        result = handle.stop()
        seen += result.tables["out"]["n"].to_pylist()
        clients |= set(result.tables["out"]["client"].to_pylist())
        some = [own for own in result.observations if own.tuples_out]
        assert {own.latency_from for own in some} == {"create"}
        assert all(own.latency is not None and own.latency.p95_ms > 0 for own in some)
        assert some[-1].backlog_tuples == 0
    assert sorted(seen) == sorted(1000 * s + 100 * p + i for s in range(2) for p in range(4) for i in range(50))
    by_partition = [[n for n in seen if n // 100 % 10 == p] for p in range(4)]
    assert all(own == sorted(own) for own in by_partition)
    assert clients == {SECRET}
    stored = [
        path for path in (tmp_path / "c").rglob("*") if path.is_file() and SECRET in path.read_bytes().decode("latin1")
    ]
    assert stored == []
    assert json.loads((tmp_path / "c" / "spark" / "offsets" / "0").read_text().split("\n")[2])["numbers"]["ids"]
