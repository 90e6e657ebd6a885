"""A round of the campaign of kills, and a checkpoint without secrets."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from penstock.testing import loopback_cluster
from tests.services.kafka_server import KafkaServer
from tests.services.kill_campaign import Scene, StreamRound, rounds_of, summary
from tests.services.postgres_server import PostgresServer


def test_rounds_follow_from_the_seed_and_kinds_come_equally_often() -> None:
    some, again = (list(itertools.islice(rounds_of(5, 6), 6)) for _ in range(2))
    assert some == again
    assert set(Counter(kind for _, _, kinds in some for kind in kinds).values()) == {9}
    assert [number for number, _, _ in some] == list(range(6))


def test_the_summary_counts_rounds_that_were_compared() -> None:
    done = [
        {"round": 0, "kills": {"driver": 2}, "numbers": 9, "restarts": [], "seconds": 1.0, "error": ""},
        {"round": 1, "kills": {"driver": 1}, "numbers": 5, "restarts": ["gone"], "seconds": 2.0, "error": "lost"},
    ]
    found = summary(3, done)
    assert (found["kills"], found["failed_rounds"], found["numbers"], found["restarts"]) == (2, [1], 9, 1)


@pytest.mark.long
def test_a_round_loses_and_repeats_nothing_and_tells_no_secret(
    kafka: KafkaServer, postgres: PostgresServer, tmp_path: Path
) -> None:
    with loopback_cluster(tmp_path / "cluster") as cluster:
        round_ = StreamRound(0, 5, Scene(kafka, postgres, cluster, tmp_path), ("worker", "driver"))
        round_.carried_out()
    assert round_.made["driver"] == 1
    assert round_.sent > 0
    assert round_.restarts == []
