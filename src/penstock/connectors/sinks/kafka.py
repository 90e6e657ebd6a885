"""A Kafka topic as a sink: each batch in one transaction of each writer, with a marker that says which batch was last.

The marker is an offset of a consumer group, batch + 1, committed in the same transaction.  A writer's transactional id
is that of run, sink and writer: `init_transactions` ends what an older driver has open, and fences it.
"""

from __future__ import annotations

import contextlib
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.arguments import TEXT, check_arguments, or_none, whole
from penstock.block.block import Block, block_of
from penstock.connectors.sinks.arrow_part import ArrowPart, read_in_order
from penstock.connectors.sinks.json_lines import lines_of
from penstock.connectors.sinks.sink_port import Claim, Delivery, Part, SinkPromise, Sweep
from penstock.errors import InputError, OperatorError, Problem, StateError, did_you_mean
from penstock.host.extras import require

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

FORMATS = ("json", "raw")
_MESSAGES = pa.schema({"key": pa.string(), "value": pa.string(), "writer": pa.int32()})
_SECRET = {"stored": False, "shapes_state": False}
_WITHIN_S, _PAUSE_S = 60.0, 0.2
_COORDINATOR = (14, 15, 16)  # Kafka's codes: it loads, is not available, is another broker
_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """Messages of a topic, one a tuple; a stored application has no options, which may hold secrets."""

    servers: str
    topic: str
    key: str | None = None
    format: str = "json"
    writers: int = 1
    options: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False, metadata=_SECRET)

    def __reduce__(self) -> tuple[object, ...]:
        return KafkaSink, (self.servers, self.topic, self.key, self.format, self.writers)

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("exactly once", "replicas")

    def problems(self) -> Iterator[Problem]:
        if self.format not in FORMATS:
            sentence = f"has the format {self.format!r}; there are: {', '.join(FORMATS)}"
            yield Problem("", sentence, did_you_mean(self.format, FORMATS))

    def claim(self, claim: Claim) -> None:
        """Checks that the topic can be written; a new run gets its markers, so that a missing one has expired."""
        require("ps.sinks.kafka", "kafka")
        if claim.schema is not None:
            self._check(claim.sink, claim.schema)
        if claim.only_checks:
            return
        with _client_errors(claim.sink, self.topic):
            for number in range(self.writers):
                writer = _Writer(self, claim.run_id, claim.sink, number)
                try:
                    if not writer.has_topic():
                        raise InputError(f"sink '{claim.sink}' writes to the topic '{self.topic}', which Kafka does "
                                         "not have; create it first")  # fmt: skip
                    if writer.marker() is None and claim.run.newest_batch is None:
                        writer.mark(0)
                finally:
                    writer.close()

    def open(self, part: Part) -> EncodedPart:
        return EncodedPart(self, part.stage())

    def write(self, opened: EncodedPart, tuples: Block) -> None:
        opened.write(tuples)

    def publish(self, delivery: Delivery) -> None:
        if not delivery.parts:
            return
        require("ps.sinks.kafka", "kafka")
        delivery.fence()
        with _client_errors(delivery.sink, self.topic):
            for number in range(self.writers):
                writer = _Writer(self, delivery.batch.run_id, delivery.sink, number)
                try:
                    writer.deliver(delivery)
                finally:
                    writer.close()

    def sweep(self, sweep: Sweep) -> None:
        """Parts are in the checkpoint."""

    def _check(self, sink: str, schema: pa.Schema) -> None:
        if self.key is not None and self.key not in schema.names:
            hint = did_you_mean(self.key, schema.names)
            raise InputError(f"sink '{sink}' has the key '{self.key}', which its stream does not have; it has: "
                             f"{', '.join(schema.names)}" + (f"; {hint}" if hint else ""))  # fmt: skip
        values = [name for name in schema.names if name != self.key]
        if self.format == "raw" and len(values) != 1:
            raise InputError(f"sink '{sink}' with format 'raw' writes one attribute in addition to its key; "
                             f"the stream has: {', '.join(values)}")  # fmt: skip


class EncodedPart:
    """A part of messages as they are sent: encoded where the tuples are, with the number of the writer of each."""

    def __init__(self, sink: KafkaSink, part: ArrowPart) -> None:
        self._sink, self._part = sink, part

    def write(self, block: Block) -> None:
        batch = block.to_arrow()
        keys = [None] * block.rows if self._sink.key is None else [
            None if key is None else str(key) for key in batch.column(self._sink.key).to_pylist()
        ]  # fmt: skip
        values = self._values(batch)
        texts = [value or "" if key is None else key for key, value in zip(keys, values, strict=True)]
        writers = [zlib.crc32(text.encode()) % self._sink.writers for text in texts]
        columns = {"key": keys, "value": values, "writer": writers}
        self._part.write(block_of(pa.table(columns, schema=_MESSAGES), _MESSAGES, block.position))

    def close(self) -> str:
        return self._part.close()

    def _values(self, batch: pa.RecordBatch) -> list[str | None]:
        if self._sink.format == "json":
            return [line.decode() for line in lines_of(batch)]
        (name,) = [name for name in batch.schema.names if name != self._sink.key]
        return [None if value is None else str(value) for value in batch.column(name).to_pylist()]


class _Writer:
    """One writer of a sink: a producer with its transactional id, and the group that has its marker."""

    def __init__(self, sink: KafkaSink, run_id: str, name: str, number: int) -> None:
        from confluent_kafka import Consumer, Producer, TopicPartition

        own = f"penstock-{run_id}-{name}-{number}"
        common = {"bootstrap.servers": sink.servers, **sink.options}
        self._sink, self._number = sink, number
        self._producer: Producer = Producer(
            common | {"transactional.id": own, "partitioner": "murmur2_random", "compression.type": "lz4"}
        )
        self._producer.init_transactions(_WITHIN_S)
        self._consumer: Consumer = Consumer(common | {"group.id": own, "enable.auto.commit": False})
        self._place = TopicPartition(sink.topic, 0)

    def has_topic(self) -> bool:
        found = self._producer.list_topics(self._sink.topic, _WITHIN_S).topics[self._sink.topic]
        return found.error is None

    def marker(self) -> int | None:
        """The batch after the last that is in the topic; None where nobody has noted one."""
        from confluent_kafka import KafkaException

        deadline_s = time.monotonic() + _WITHIN_S
        while True:
            try:
                (found,) = self._consumer.committed([self._place], timeout=_WITHIN_S)
                return found.offset if found.offset >= 0 else None
            except KafkaException as error:  # a coordinator may be on its way, as after a broker's start
                if error.args[0].code() not in _COORDINATOR or time.monotonic() > deadline_s:
                    raise
                time.sleep(_PAUSE_S)

    def mark(self, batch: int) -> None:
        """Notes the batch that comes next, alone in a transaction."""
        self._producer.begin_transaction()
        self._commit(batch)

    def deliver(self, delivery: Delivery) -> None:
        marker = self.marker()
        if marker is None and delivery.is_again:
            raise StateError(
                f"sink '{delivery.sink}' cannot tell whether batch {delivery.batch} is in topic '{self._sink.topic}': "
                "the offset that says so has expired; look for its messages, and go on with a new checkpoint"
            )
        if marker is not None and marker > delivery.batch:
            return
        self._producer.begin_transaction()
        for block in read_in_order(delivery.folder, delivery.parts, _MESSAGES, _ROWS):
            self._send(block)
        delivery.fence()
        self._commit(delivery.batch + 1)

    def close(self) -> None:
        self._consumer.close()

    def _send(self, block: Block) -> None:
        batch = block.to_arrow()
        keys, values, writers = (batch.column(i).to_pylist() for i in range(3))
        for key, value, writer in zip(keys, values, writers, strict=True):
            if writer == self._number:
                self._produce(key, value)

    def _produce(self, key: str | None, value: str | None) -> None:
        while True:
            try:
                self._producer.produce(self._sink.topic, value, key)
                return
            except BufferError:  # the queue is full: wait for some to be sent
                self._producer.poll(0.1)

    def _commit(self, batch: int) -> None:
        from confluent_kafka import TopicPartition

        place = TopicPartition(self._place.topic, self._place.partition, batch)
        group = self._consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction([place], group, _WITHIN_S)
        self._producer.commit_transaction(_WITHIN_S)


@contextlib.contextmanager
def _client_errors(sink: str, topic: str) -> Iterator[None]:
    """Gives what Kafka says in one sentence; a driver that was fenced is told that another has taken over."""
    from confluent_kafka import KafkaError, KafkaException

    try:
        yield
    except KafkaException as error:
        own = error.args[0]
        if own.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED):
            raise StateError(f"sink '{sink}' was taken over by a later driver of this checkpoint; this driver stops, "
                             "and nothing more of it counts") from error  # fmt: skip
        raise OperatorError(f"sink '{sink}' cannot write to the topic '{topic}' of Kafka: {own.str()}") from error


def kafka(
    servers: str,
    topic: str,
    *,
    key: str | None = None,
    format: str = "json",
    writers: int = 1,
    options: Mapping[str, str] | None = None,
) -> KafkaSink:
    """A Kafka topic, written exactly once in transactions.  Needs the extra `kafka`.

    `key`: the attribute that is a message's key; messages of a key keep their order while the topic's partitions stay.
    `format`: `json`, an object a message, or `raw`, the one attribute beside the key as text.  `writers`: how many
    producers share the work, by key; the same for the life of a checkpoint.  `options`: more settings of librdkafka,
    such as those of SASL and TLS; they are kept in the driver alone, never stored, logged or shown.

    >>> kafka("localhost:9092", "prices", key="ticker")
    KafkaSink(servers='localhost:9092', topic='prices', key='ticker', format='json', writers=1)
    """
    check_arguments(
        "ps.sinks.kafka", servers=(servers, TEXT), topic=(topic, TEXT), key=(key, or_none(TEXT)), format=(format, TEXT),
        writers=(writers, whole(1, 64)),
    )  # fmt: skip
    require("ps.sinks.kafka", "kafka")
    return KafkaSink(servers, topic, key, format, writers, dict(options or {}))
