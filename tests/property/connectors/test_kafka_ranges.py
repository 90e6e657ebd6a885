"""Ranges of a partition, read by consumers that are kept: what is in the log and in the range, whatever came before."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock.connectors.kafka import consumers as consumers_module
from penstock.connectors.kafka.consumers import Consumers
from penstock.connectors.kafka.places import OffsetRange
from penstock.connectors.kafka.range_reader import RangeReader

confluent_kafka = pytest.importorskip("confluent_kafka")
KafkaError = confluent_kafka.KafkaError
PARTITIONS, END = 3, 20


@dataclass(frozen=True)
class Event:
    """A message, or the end of a partition."""

    number: int
    place: int
    is_end: bool = False

    def __len__(self) -> int:
        return 7

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self.number

    def offset(self) -> int:
        return self.place

    def error(self) -> Any:
        return KafkaError(KafkaError._PARTITION_EOF) if self.is_end else None


class Client:
    """A consumer that, sent elsewhere, still gives some of what it had; its log has holes.

    Ends of a partition come again and again, also where they are known.
    """

    def __init__(self, log: list[set[int]], stale: Iterator[int], most: Iterator[int]) -> None:
        self._log, self._stale, self._most = log, stale, most
        self._had: list[Event] = []

    def assign(self, places: list[Any]) -> None:
        (own,) = places
        left = sorted(offset for offset in self._log[own.partition] if offset >= own.offset)
        events = [Event(own.partition, offset) for offset in left] + [Event(own.partition, END, True)] * 2
        self._had = self._had[: next(self._stale)] + events

    def consume(self, most: int, within_s: float) -> list[Event]:
        count = min(most, next(self._most))
        given_, self._had = self._had[:count], self._had[count:]
        return given_

    def get_watermark_offsets(self, place: Any, timeout: float) -> tuple[int, int]:
        return 0, END

    def close(self) -> None:
        pass


def forever(numbers: list[int]) -> Iterator[int]:
    while True:
        yield from numbers


ranges = st.lists(
    st.tuples(st.integers(0, PARTITIONS - 1), st.integers(0, END - 1), st.integers(1, 8), st.booleans()), max_size=12
)
logs = st.lists(st.sets(st.integers(0, END - 1), max_size=END), min_size=PARTITIONS, max_size=PARTITIONS)
full = [set(range(END))] * PARTITIONS
few = st.lists(st.integers(0, 9), min_size=1, max_size=5)
some = st.lists(st.integers(1, 20), min_size=1, max_size=5)


@given(ranges, st.one_of(logs, st.just(full)), few, some, st.integers(0, 3), st.sampled_from([0, 5, 1000]))
@example([(0, 0, 1, False), (0, 5, 2, False)], [{0, 5, 6, 7, 8}, set(), set()], [0], [4], 1, 1000)  # hole, then more
@example([(0, 0, 1, False), (0, 5, 4, False)], [{0, 5, 6, 7, 8}, set(), set()], [3], [1], 1, 0)  # the same twice
@settings(max_examples=200)
def test_what_a_client_had_before_it_was_sent_elsewhere_is_not_taken_for_what_lies_there(
    wanted: list[tuple[int, int, int, bool]], log: list[set[int]], stale: list[int], most: list[int], kept: int,
    skip: int,
) -> None:  # fmt: skip
    had, counts = forever(stale), forever(most)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(confluent_kafka, "Consumer", lambda settings: Client(log, had, counts))
        patched.setattr(consumers_module, "_LONGEST_SKIP", skip)
        _check(Consumers({}, kept), patched, wanted, log)


def _check(
    pool: Consumers, patched: pytest.MonkeyPatch, wanted: list[tuple[int, int, int, bool]], log: list[set[int]],
    servers: str = "", topic: str = "t",
) -> None:  # fmt: skip
    patched.setattr("penstock.connectors.kafka.range_reader.consumers_of", lambda servers, place: pool)
    for number, begin, length, is_prepared in wanted:
        own = OffsetRange(topic, number, number, begin, min(begin + length, END))
        reader = RangeReader(servers, "place", 60.0, may_expire=False)
        if is_prepared:
            reader.prepare(topic, (number + 1) % PARTITIONS, begin)
        found = [(event.partition(), event.offset()) for events in reader.read(own) for event in events]
        assert found == [(number, offset) for offset in range(own.begin, own.end) if offset in log[number]]
    pool.close_idle(0.0)


@pytest.fixture(scope="module")
def filled() -> tuple[str, str, Any]:
    """A mock broker with a topic."""
    producer = confluent_kafka.Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
    servers = ",".join(f"{own.host}:{own.port}" for own in producer.list_topics(timeout=30).brokers.values())
    topic = f"t-{uuid.uuid4().hex[:8]}"
    for number in range(PARTITIONS):
        for offset in range(END):
            producer.produce(topic, f"{number}-{offset}".encode(), partition=number)
    assert producer.flush(30) == 0
    return servers, topic, producer


@given(ranges, st.integers(0, 3), st.sampled_from([0, 5, 1000]))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ranges_in_any_order_are_whole_with_real_clients(
    filled: tuple[str, str, Any], wanted: list[tuple[int, int, int, bool]], kept: int, skip: int
) -> None:
    servers, topic, _ = filled
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(consumers_module, "_LONGEST_SKIP", skip)
        _check(Consumers({"bootstrap.servers": servers}, kept), patched, wanted, full, servers, topic)
