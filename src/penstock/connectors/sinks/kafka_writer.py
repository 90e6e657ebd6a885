"""The writers of a Kafka sink: producers with transactional ids, kept open from batch to batch.

The marker is an offset of a consumer group, batch + 1, committed in the same transaction as the batch's messages.  A
writer's transactional id is that of run, sink and number: `init_transactions` ends what an older writer has open, and
fences it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import StateError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer

_WITHIN_S, _PAUSE_S = 60.0, 0.2
_TURN_S = 5.0  # of a call that is made again
_ENDS_S, _STUCK_S = 30.0, 35.0  # of a transaction
_IDLE_S = 60.0
_COORDINATOR = (14, 15, 16)  # Kafka's codes: it loads, is not available, is another broker
OWN_SETTINGS = ("bootstrap.servers", "enable.auto.commit", "group.id", "partitioner", "transactional.id")


@dataclass(frozen=True, slots=True)
class WriterId:
    """Which writer: `own` names run, sink and number; a driver of a higher `epoch` has one of its own."""

    servers: str
    topic: str
    own: str
    epoch: int
    options: tuple[tuple[str, str], ...]


class Writer:
    """A producer that has fenced all before it: while its transactions succeed, nobody else moves the marker.

    After an error it is of no more use: the next one asks the broker what is there.
    """

    def __init__(self, own: WriterId) -> None:
        from confluent_kafka import Consumer, Producer, TopicPartition

        common: dict[str, Any] = {"log_level": 0, **dict(own.options), "bootstrap.servers": own.servers}
        self._topic, self._place, self._is_disturbed = own.topic, TopicPartition(own.topic, 0), False
        self._refusal: KafkaError | None = None
        settings: dict[str, Any] = {
            "transactional.id": own.own,
            "partitioner": "murmur2_random",
            "error_cb": self._disturb,
        }
        self._producer: Producer = Producer({"compression.type": "lz4", **common, **settings})
        self._init_transactions()
        consumer = Consumer({**common, "group.id": own.own, "enable.auto.commit": False})
        self._group = consumer.consumer_group_metadata()
        try:
            self.marker: int | None = self._read_marker(consumer)
        finally:
            consumer.close()
        self._forget_errors()
        self.used_s = time.monotonic()

    def is_well(self) -> bool:
        """Whether it lost no connection since it was used; one that did may hang in its next transaction."""
        self._producer.poll(0)  # has errors told
        return not self._is_disturbed

    def has_topic(self) -> bool:
        found = self._producer.list_topics(self._topic, _WITHIN_S).topics[self._topic]
        return found.error is None

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, key: str | None, value: str | None) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, key)
                return
            except BufferError:  # the queue is full: wait for some to be sent
                self._producer.poll(0.1)

    def commit(self, marker: int) -> None:
        """Ends the transaction, with the number of the batch that comes next."""
        from confluent_kafka import TopicPartition

        place = TopicPartition(self._place.topic, self._place.partition, marker)
        within(_STUCK_S, lambda: self._producer.send_offsets_to_transaction([place], self._group, _ENDS_S))
        within(_STUCK_S, lambda: self._producer.commit_transaction(_ENDS_S))
        self.marker = marker
        self._forget_errors()

    def close(self) -> None:
        """Lets go of the broker, and waits for nothing: what is open is ended by the next writer, or by the broker."""
        with contextlib.suppress(Exception):
            self._producer.purge(blocking=False)
        del self._producer

    def _init_transactions(self) -> None:
        """In turns with what the client has to tell: a wrong password is a reason to stop, not to wait."""
        from confluent_kafka import KafkaException

        deadline_s = time.monotonic() + _WITHIN_S
        while True:
            try:
                self._producer.init_transactions(_TURN_S)
                return
            except KafkaException as error:
                self._producer.poll(0)
                if self._refusal is not None:
                    raise KafkaException(self._refusal) from error
                if not error.args[0].retriable() or time.monotonic() > deadline_s:
                    raise

    def _forget_errors(self) -> None:
        """The broker has answered since."""
        self._producer.poll(0)
        self._is_disturbed = False

    def _disturb(self, error: KafkaError) -> None:
        from confluent_kafka import KafkaError

        self._is_disturbed = True
        if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL):
            self._refusal = error

    def _read_marker(self, consumer: Consumer) -> int | None:
        """The batch after the last that is in the topic; None where nobody has noted one."""
        from confluent_kafka import KafkaException

        deadline_s = time.monotonic() + _WITHIN_S
        while True:
            try:
                (found,) = consumer.committed([self._place], timeout=_WITHIN_S)
                return found.offset if found.offset >= 0 else None
            except KafkaException as error:  # a coordinator may be on its way, as after a broker's start
                if error.args[0].code() not in _COORDINATOR or time.monotonic() > deadline_s:
                    raise
                time.sleep(_PAUSE_S)


class Writers:
    """Writers of this process that nobody uses now, by their ids."""

    def __init__(self) -> None:
        self._idle: dict[WriterId, Writer] = {}
        self._lock = threading.Lock()
        self._closer: threading.Thread | None = None

    @contextlib.contextmanager
    def lent(self, own: WriterId) -> Iterator[tuple[Writer, bool]]:
        """A writer, and whether it was kept; it is closed if its use ends by an error."""
        with self._lock:
            kept = self._idle.pop(own, None)
        if kept is not None and not kept.is_well():
            kept.close()
            kept = None
        writer = kept or Writer(own)
        try:
            yield writer, kept is not None
        except BaseException:
            writer.close()
            raise
        self._take_back(own, writer)

    def close_idle(self, idle_s: float) -> bool:
        """Closes those that nobody used for so long; gives whether there are others."""
        with self._lock:
            now_s = time.monotonic()
            old = [own for own, writer in self._idle.items() if now_s - writer.used_s >= idle_s]
            closed = [self._idle.pop(own) for own in old]
            if not self._idle:
                self._closer = None
            are_others = self._closer is not None
        for writer in closed:
            writer.close()
        return are_others

    def _take_back(self, own: WriterId, writer: Writer) -> None:
        writer.used_s = time.monotonic()
        with self._lock:
            before = [self._idle.pop(other) for other in list(self._idle) if other.own == own.own]
            self._idle[own] = writer
            if self._closer is None:
                self._closer = threading.Thread(target=self._close_later, name="penstock-kafka-writers", daemon=True)
                self._closer.start()
        for other in before:  # of a driver before, or of another thread
            other.close()

    def _close_later(self) -> None:
        is_used = True
        while is_used:
            time.sleep(_IDLE_S / 3)
            is_used = self.close_idle(_IDLE_S)


WRITERS = Writers()


def within(seconds: float, call: Callable[[], object]) -> None:
    """Makes a call, and gives up on it after some time: KafkaException, as where a broker does not answer.

    librdkafka does not keep its own time where a broker dies at the wrong moment (2.16: a commit of offsets is never
    sent).  The next writer's `init_transactions` fences what is left behind.
    """
    from confluent_kafka import KafkaError, KafkaException

    failed: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="penstock-kafka-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"nothing came back for {seconds:g} s"))
    if failed:
        raise failed[0]


def writer_id(
    servers: str, topic: str, options: Mapping[str, str], *, run_id: str, sink: str, number: int, epoch: int = 0
) -> WriterId:
    return WriterId(servers, topic, f"penstock-{run_id}-{sink}-{number}", epoch, tuple(sorted(options.items())))


def check_marker(writer: Writer, sink: str, topic: str, batch: int, *, is_again: bool) -> bool:
    """Whether a batch is still to be sent; StateError where nobody can tell."""
    if writer.marker is None and is_again:
        raise StateError(
            f"sink '{sink}' cannot tell whether batch {batch} is in topic '{topic}': "
            "the offset that says so has expired; look for its messages, and go on with a new checkpoint"
        )
    return writer.marker is None or writer.marker <= batch
