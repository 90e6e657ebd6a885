"""What a task does with Kafka: reads a range of offsets of one partition, whatever lies in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import methodcaller
from typing import TYPE_CHECKING

from penstock.connectors.kafka.broker import away, gone, was_cut
from penstock.connectors.kafka.consumers import OpenConsumer, consumers_of
from penstock.connectors.kafka.places import OffsetRange
from penstock.errors import OperatorError

if TYPE_CHECKING:
    from confluent_kafka import Message

_MESSAGES = 2_048  # at once: more objects of the client's that live together cost twice as much to make
_LONG = 2_048  # messages of a range: there is so much that the next one is worth fetching while others are computed
_POLL_S, _POLL_AT_END_S = 1.0, 0.25
_offset, _error = methodcaller("offset"), methodcaller("error")


@dataclass(slots=True)
class RangeReader:
    """Messages of a range, some at a time; `missing` has offsets that had expired, as (first, end).

    A range ends where the consumer is behind it, or at the end of the partition: control records and compaction leave
    holes.  `may_expire`: offsets that are not there any more are noted and left out, else they stop the application.
    """

    servers: str
    place: str  # of the source, by which its settings are kept
    patience_s: float | None
    may_expire: bool
    missing: list[tuple[int, int]] = field(default_factory=list)

    def read(self, own: OffsetRange) -> Iterator[list[Message]]:
        with consumers_of(self.servers, self.place).lent(own.name) as consumer:
            consumer.go_to(own.name, own.begin)
            heard_s, is_at_end = time.monotonic(), False
            while consumer.known_to < own.end:
                wanted = min(_MESSAGES, own.end - consumer.known_to)
                found = consumer.events(wanted, _POLL_AT_END_S if is_at_end else _POLL_S)
                inside = self._inside(consumer, own, found)
                if inside:
                    yield inside
                if is_at_end and not found:
                    _check_not_cut(consumer, own)
                is_at_end = (is_at_end and not found) or (bool(found) and found[-1].error() is not None)
                heard_s = time.monotonic() if found else heard_s
                if self.patience_s is not None and time.monotonic() - heard_s > self.patience_s:
                    raise away(self.servers, self.patience_s, "no messages came")
            consumer.position = own.end
            if own.end - own.begin < _LONG:
                consumer.rest()

    def prepare(self, topic: str, partition: int, begin: int) -> None:
        """Has messages fetched that are read next."""
        consumers_of(self.servers, self.place).prepare((topic, partition), begin)

    def _inside(self, consumer: OpenConsumer, own: OffsetRange, found: list[Message]) -> list[Message]:
        """The messages of the range among what came; what lies behind it is given back."""
        begin = max(consumer.known_to, own.begin)
        end = begin + len(found)
        is_plain = end <= own.end and list(map(_offset, found)) == list(range(begin, end))
        if is_plain and not any(map(_error, found)):  # nearly always
            consumer.known_to = end
            return found
        inside: list[Message] = []
        for place, event in enumerate(found):
            if event.error() is None:
                offset = event.offset()
                assert offset is not None
                if offset >= own.end:
                    consumer.put_back(found[place:])
                    consumer.known_to = own.end
                    break
                if offset >= max(consumer.known_to, own.begin):
                    inside.append(event)
                consumer.known_to = max(consumer.known_to, offset + 1)
            elif not self._goes_on(consumer, own, event):
                break
        return inside

    def _goes_on(self, consumer: OpenConsumer, own: OffsetRange, event: Message) -> bool:
        """Whether what came after an end or an error still counts."""
        from confluent_kafka import KafkaError

        error = event.error()
        assert error is not None
        if error.code() == KafkaError._PARTITION_EOF:
            consumer.known_to = max(consumer.known_to, event.offset() or 0)
            return True
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            first, last = consumer.watermarks()
            position = max(consumer.known_to, own.begin)
            if first <= position:
                raise was_cut(own.topic, own.partition, own.end, last)
            self._skip_expired(consumer, own, position, first)
            return False
        if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION):
            raise gone(own.topic)
        if error.fatal() or not error.retriable():
            raise OperatorError(f"partition {own.partition} of the topic '{own.topic}' cannot be read: {error.str()}")
        return True

    def _skip_expired(self, consumer: OpenConsumer, own: OffsetRange, position: int, first: int) -> None:
        if not self.may_expire:
            raise expired(own.topic, own.partition, position, first)
        end = min(first, own.end)
        self.missing.append((position, end))
        consumer.close()
        consumer.go_to(own.name, end)


def _check_not_cut(consumer: OpenConsumer, own: OffsetRange) -> None:
    """OperatorError where the partition ends before the range; a broker that does not answer is waited for."""
    from confluent_kafka import KafkaException

    try:
        _, last = consumer.watermarks()
    except KafkaException:
        return
    if last < own.end:
        raise was_cut(own.topic, own.partition, own.end, last)


def expired(topic: str, partition: int, position: int, first: int) -> OperatorError:
    return OperatorError(
        f"offsets {position} to {first - 1} of partition {partition} of the topic '{topic}' have expired before they "
        "were read; give the topic a longer retention and start with a new checkpoint, or take "
        "on_expired='dead_letter' to go on behind them"
    )
