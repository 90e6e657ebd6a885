"""What a task does with Kafka: reads a range of offsets of one partition, whatever lies in it."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.broker import away, gone
from penstock.connectors.kafka.places import OffsetRange
from penstock.connectors.planned.client_options import options_of
from penstock.errors import OperatorError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_MESSAGES = 32_768  # at once
_POLL_S = 1.0
_SETTINGS: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "auto.offset.reset": "error",  # nobody goes on elsewhere in silence
    "queued.min.messages": 100_000,
    "fetch.wait.max.ms": 20,
    "log_level": 0,
}


@dataclass(slots=True)
class RangeReader:
    """Messages of a range, some at a time; `missing` has offsets that had expired, as (first, end).

    A range ends where the position is behind it, or at the end of the partition: control records and compaction leave
    holes.  `may_expire`: offsets that are not there any more are noted and left out, else they stop the application.
    """

    servers: str
    place: str  # of the source, by which its settings are kept
    patience_s: float | None
    may_expire: bool
    missing: list[tuple[int, int]] = field(default_factory=list)

    def read(self, own: OffsetRange) -> Iterator[list[Message]]:
        from confluent_kafka import TopicPartition

        consumer, position = _consumer(self.servers, self.place), own.begin
        consumer.assign([TopicPartition(own.topic, own.partition, position)])
        try:
            heard_s = time.monotonic()
            while position < own.end:
                found = consumer.consume(min(_MESSAGES, own.end - position), _POLL_S)
                good = [message for message in found if message.error() is None]
                inside = [message for message in good if _offset(message) < own.end]
                if inside:
                    position = _offset(inside[-1]) + 1
                    yield inside
                for message in found:
                    if message.error() is not None:
                        position = self._position_after(consumer, own, position, message)
                if len(inside) < len(good):
                    return
                heard_s = time.monotonic() if found else heard_s
                if self.patience_s is not None and time.monotonic() - heard_s > self.patience_s:
                    raise away(self.servers, self.patience_s, "no messages came")
        finally:
            with contextlib.suppress(Exception):
                consumer.unassign()

    def _position_after(self, consumer: Consumer, own: OffsetRange, position: int, message: Message) -> int:
        """Where to go on after what was no message."""
        from confluent_kafka import KafkaError, TopicPartition

        error = message.error()
        assert error is not None
        if error.code() == KafkaError._PARTITION_EOF:
            end = message.offset()
            if end is not None and 0 <= end < own.end and end >= position:
                raise _cut(own, end)
            return own.end if end is None or end >= own.end else position
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            first, last = consumer.get_watermark_offsets(TopicPartition(own.topic, own.partition), timeout=10.0)
            if first <= position:
                raise _cut(own, last)
            return self._skip_expired(consumer, own, position, first)
        if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION):
            raise gone(own.topic)
        if error.fatal() or not error.retriable():
            raise OperatorError(f"partition {own.partition} of the topic '{own.topic}' cannot be read: {error.str()}")
        return position

    def _skip_expired(self, consumer: Consumer, own: OffsetRange, position: int, first: int) -> int:
        from confluent_kafka import TopicPartition

        if not self.may_expire:
            raise expired(own.topic, own.partition, position, first)
        end = min(first, own.end)
        self.missing.append((position, end))
        if end < own.end:
            consumer.assign([TopicPartition(own.topic, own.partition, end)])
        return end


def _cut(own: OffsetRange, end: int) -> OperatorError:
    return OperatorError(
        f"partition {own.partition} of the topic '{own.topic}' ends at offset {end}, and had offsets up to {own.end} "
        "when they were planned: its log was cut; start with a new checkpoint"
    )


def expired(topic: str, partition: int, position: int, first: int) -> OperatorError:
    return OperatorError(
        f"offsets {position} to {first - 1} of partition {partition} of the topic '{topic}' have expired before they "
        "were read; give the topic a longer retention and start with a new checkpoint, or take "
        "on_expired='dead_letter' to go on behind them"
    )


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset


@lru_cache(maxsize=8)
def _consumer(servers: str, place: str) -> Consumer:
    """One for each source of a process; nothing is committed under its group."""
    from confluent_kafka import Consumer

    group = f"penstock-{uuid.uuid4().hex[:12]}"
    return Consumer({**_SETTINGS, "bootstrap.servers": servers, "group.id": group, **options_of(place)})
