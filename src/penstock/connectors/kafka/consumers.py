"""Consumers that a worker process keeps: each stands in a partition, and goes on where it stands."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.places import Partition
from penstock.connectors.planned.client_options import options_of

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_SETTINGS: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "auto.offset.reset": "error",  # nobody goes on elsewhere in silence
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 10_240,  # read ahead by each consumer
    "fetch.message.max.bytes": 4 << 20,  # of one answer: with 1 MB a range of large messages needs many of them
    "fetch.queue.backoff.ms": 20,
    "reconnect.backoff.max.ms": 1000,
    "log_level": 0,
}
OWN_SETTINGS = ("auto.offset.reset", "enable.auto.commit", "enable.partition.eof", "isolation.level")
_WAIT_MS, _SPARE_WAIT_MS = 100, 20  # of a fetch at the end of a partition; who goes elsewhere has to wait for it
_MOST_OPEN = 24
_IDLE_S = 30.0
_LONGEST_SKIP, _LONGEST_SKIP_BYTES = 4_096, 1 << 19  # messages to read over: it takes less time than going elsewhere
_GATHER_S = 0.005  # for more messages, once some are there; after it a hole in the log is no reason to wait


class OpenConsumer:
    """A consumer of one partition at a time; gives its messages and its ends, in order.

    `position`: where the range ended that was read last.  `known_to`: all messages before it were given, or lie before
    `position`; it is behind `position` where the partition ends with control records.

    What a client still has from before it was sent elsewhere must not be taken for what lies there: an answer that does
    not begin with the offset that was asked for is asked for again by a new client.
    """

    def __init__(self, settings: Mapping[str, Any], *, is_spare: bool = False) -> None:
        self._settings, self.is_spare = settings, is_spare
        self._client: Consumer | None = None
        self._ahead: deque[Message] = deque()
        self._is_proved = True
        self.is_read = True  # since it was last sent somewhere ahead of its reader
        self.partition: Partition | None = None
        self.position = self.known_to = 0
        self.message_bytes = 0  # of what it gave last
        self.used_s = time.monotonic()

    def stands_before(self, partition: Partition, begin: int) -> bool:
        """Whether it gets to an offset by going on."""
        skip = begin - self.known_to
        is_near = skip <= _LONGEST_SKIP and skip * self.message_bytes <= _LONGEST_SKIP_BYTES
        return partition == self.partition and self.position <= begin and is_near

    def go_to(self, partition: Partition, begin: int) -> None:
        """The next messages are those from an offset on, and perhaps some before it."""
        if not self.stands_before(partition, begin):
            self._is_proved = self._client is None or partition != self.partition
            self.partition, self.position, self.known_to = partition, begin, begin
            self._ahead.clear()
            self._assign()

    def events(self, most: int, within_s: float) -> list[Message]:
        """At most so many messages and ends of this partition, in order."""
        if self._ahead:
            return [self._ahead.popleft() for _ in range(min(most, len(self._ahead)))]
        assert self._client is not None
        found = self._client.consume(most, _GATHER_S) or self._client.consume(1, within_s)
        if self.is_spare:  # of a partition where it was before
            found = [event for event in found if (event.topic(), event.partition()) == self.partition]
        if found and not self._is_proved:
            self._is_proved = True
            if found[0].error() is not None or found[0].offset() != self.position:
                self._begin_anew()
                return []
        if found and found[0].error() is None:
            self.message_bytes = len(found[0])
        return found

    def put_back(self, events: Sequence[Message]) -> None:
        """They come again, before all others."""
        self._ahead.extendleft(reversed(events))

    def watermarks(self) -> tuple[int, int]:
        """The first offset of the partition and the one behind its last, as the brokers have them now."""
        from confluent_kafka import TopicPartition

        assert self._client is not None
        assert self.partition is not None
        first, last = self._client.get_watermark_offsets(TopicPartition(*self.partition), timeout=10.0)
        return first, last

    def close(self) -> None:
        client, self._client, self.partition = self._client, None, None
        self._ahead.clear()
        if client is not None:
            with contextlib.suppress(Exception):
                client.close()

    def _begin_anew(self) -> None:
        partition = self.partition
        self.close()
        self.partition = partition
        self._assign()

    def _assign(self) -> None:
        from confluent_kafka import Consumer, TopicPartition

        assert self.partition is not None
        if self._client is None:  # nothing is committed under its group
            self._client = Consumer({"group.id": f"penstock-{uuid.uuid4().hex[:12]}", **self._settings})
        self._client.assign([TopicPartition(*self.partition, self.position)])


class Consumers:
    """Those of one source in this process: one for each partition up to a number, and a spare one for all others."""

    def __init__(self, settings: Mapping[str, Any], most: int = _MOST_OPEN) -> None:
        self._settings, self._most = {"fetch.wait.max.ms": _WAIT_MS, **_SETTINGS, **settings}, most
        self._spare_settings = {"fetch.wait.max.ms": _SPARE_WAIT_MS, **_SETTINGS, **settings}
        self._idle: dict[Partition | None, OpenConsumer] = {}  # None: the spare one
        self._lock = threading.Lock()
        self._closer: threading.Thread | None = None

    @contextlib.contextmanager
    def lent(self, partition: Partition) -> Iterator[OpenConsumer]:
        """The consumer that stands in a partition, or another one; it is closed if its use ends by an error."""
        own = self._taken(partition)
        try:
            yield own
        except BaseException:
            own.close()
            raise
        own.is_read, own.used_s = True, time.monotonic()
        self._take_back(own)

    def prepare(self, partition: Partition, begin: int) -> None:
        """Has the consumer of a partition fetch what comes next there; the spare one stays where it is.

        One that was sent ahead before, and that nobody read since, stays too: another process reads that partition.
        """
        own = self._taken(partition)
        if own.is_read and not own.is_spare:
            own.go_to(partition, begin)
            own.is_read = False
        self._take_back(own)

    def close_idle(self, idle_s: float) -> bool:
        """Closes consumers that nobody used for so long; gives whether there are others."""
        with self._lock:
            now_s = time.monotonic()
            old = [name for name, own in self._idle.items() if now_s - own.used_s >= idle_s]
            closed = [self._idle.pop(name) for name in old]
            if not self._idle:
                self._closer = None
        for own in closed:
            own.close()
        return self._closer is not None

    def _taken(self, partition: Partition) -> OpenConsumer:
        with self._lock:
            own = self._idle.pop(partition, None)
            if own is not None:
                return own
            if len(self._idle) < self._most:
                return OpenConsumer(self._settings)
            return self._idle.pop(None, None) or OpenConsumer(self._spare_settings, is_spare=True)

    def _take_back(self, own: OpenConsumer) -> None:
        with self._lock:
            before = self._idle.pop(None if own.is_spare else own.partition, None)
            self._idle[None if own.is_spare else own.partition] = own
            if self._closer is None:
                self._closer = threading.Thread(target=self._close_later, name="penstock-kafka", daemon=True)
                self._closer.start()
        if before is not None:  # two threads read one partition
            before.close()

    def _close_later(self) -> None:
        is_used = True
        while is_used:
            time.sleep(_IDLE_S / 3)
            is_used = self.close_idle(_IDLE_S)


def consumers_of(servers: str, place: str) -> Consumers:
    """Those of the source that has a place in a checkpoint."""
    return _consumers(servers, place, tuple(sorted(options_of(place).items())))


@functools.lru_cache(maxsize=8)
def _consumers(servers: str, place: str, options: tuple[tuple[str, str], ...]) -> Consumers:
    return Consumers({"bootstrap.servers": servers, **dict(options)})
