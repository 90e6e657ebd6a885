"""A Kafka topic as a sink: each batch in one transaction of each writer, with a marker that says which batch was last.

`kafka_writer.py` has the writers, and says what the marker is.
"""

from __future__ import annotations

import contextlib
import logging
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from penstock.arguments import TEXT, check_arguments, checked_call, dict_of, or_none, secret, whole
from penstock.block.block import Block, block_of
from penstock.connectors.sinks.arrow_part import ArrowPart, read_in_order
from penstock.connectors.sinks.json_lines import lines_of
from penstock.connectors.sinks.kafka_writer import OWN_SETTINGS, WRITERS, Writer, WriterId, check_marker, writer_id
from penstock.connectors.sinks.sink_port import Claim, Delivery, Part, SinkPromise, Sweep
from penstock.errors import InputError, OperatorError, Problem, StateError, did_you_mean
from penstock.host.extras import require

_log = logging.getLogger(__name__)
FORMATS = ("json", "raw")
_MESSAGES = pa.schema({"key": pa.string(), "value": pa.string(), "writer": pa.int32()})
_SECRET = {"stored": False, "shapes_state": False}
_ROWS = 1 << 14
_OPTIONS = dict_of("a dict of librdkafka's settings", str, int, float, bool)


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
        for name in sorted(set(OWN_SETTINGS) & set(self.options)):
            yield Problem("", f"has {name} among its options, which ps.sinks.kafka sets itself")

    def schema_problems(self, schema: pa.Schema) -> Iterator[Problem]:
        if self.key is not None and self.key not in schema.names:
            yield Problem("", f"has the key '{self.key}', which its stream does not have; it has: "
                          f"{', '.join(schema.names)}", did_you_mean(self.key, schema.names))  # fmt: skip
        values = [name for name in schema.names if name != self.key]
        if self.format == "raw" and len(values) != 1:
            yield Problem("", "with format 'raw' writes one attribute in addition to its key; the stream has: "
                          f"{', '.join(values)}")  # fmt: skip

    def claim(self, claim: Claim) -> None:
        """Checks that the topic can be written; a new run gets its markers, so that a missing one has expired."""
        require("ps.sinks.kafka", "kafka")
        if claim.only_checks:
            return
        with _client_errors(claim.sink, self.topic):
            for number in range(self.writers):
                own = writer_id(
                    self.servers, self.topic, self.options, run_id=claim.run_id, sink=claim.sink, number=number
                )
                with contextlib.closing(Writer(own)) as writer:
                    if not writer.has_topic():
                        raise InputError(f"sink '{claim.sink}' writes to the topic '{self.topic}', which Kafka does "
                                         "not have; create it first")  # fmt: skip
                    if writer.marker is None and claim.run.newest_batch is None:
                        writer.begin()
                        writer.commit(0)

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
                _deliver(self, delivery, number)

    def sweep(self, sweep: Sweep) -> None:
        """Parts are in the checkpoint."""


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


def _deliver(sink: KafkaSink, delivery: Delivery, number: int) -> None:
    """Sends what a writer has of a batch; one that was kept, or waited in vain, is made anew once."""
    from confluent_kafka import KafkaError, KafkaException

    was_kept = False
    try:
        with WRITERS.lent(_id(sink, delivery, number)) as (writer, was_kept):
            _send(writer, sink, delivery, number)
    except KafkaException as error:
        code = error.args[0].code()
        if code in _fenced() or not (was_kept or code == KafkaError._TIMED_OUT):
            raise
        _log.info("sink '%s' makes a producer anew: %s", delivery.sink, error.args[0].str())
        with WRITERS.lent(_id(sink, delivery, number)) as (writer, _):
            _send(writer, sink, replace(delivery, is_again=True), number)


def _id(sink: KafkaSink, delivery: Delivery, number: int) -> WriterId:
    return writer_id(
        sink.servers, sink.topic, sink.options, run_id=delivery.batch.run_id, sink=delivery.sink, number=number,
        epoch=delivery.epoch,
    )  # fmt: skip


def _send(writer: Writer, sink: KafkaSink, delivery: Delivery, number: int) -> None:
    """A writer's messages and the marker in one transaction, unless they are there."""
    if not check_marker(writer, delivery.sink, sink.topic, delivery.batch, is_again=delivery.is_again):
        return
    writer.begin()
    for block in read_in_order(delivery.folder, delivery.parts, _MESSAGES, _ROWS):
        columns = (column.to_pylist() for column in block.to_arrow().columns)
        for key, value, own in zip(*columns, strict=True):
            if own == number:
                writer.send(key, value)
    delivery.fence()
    writer.commit(delivery.batch + 1)


def _fenced() -> tuple[int, ...]:
    """Codes by which a broker says that a later driver has taken over."""
    from confluent_kafka import KafkaError

    return KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED


@contextlib.contextmanager
def _client_errors(sink: str, topic: str) -> Iterator[None]:
    """Gives what Kafka says in one sentence; a driver that was fenced is told that another has taken over."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        own = error.args[0]
        if own.code() in _fenced():
            raise StateError(f"sink '{sink}' was taken over by a later driver of this checkpoint; this driver stops, "
                             "and nothing more of it counts") from error  # fmt: skip
        raise OperatorError(f"sink '{sink}' cannot write to the topic '{topic}' of Kafka: {own.str()}") from error


@checked_call("ps.sinks.kafka")
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
    `format`: `json`, an object a message, or `raw`, the one attribute besides the key as text.  `writers`: how many
    producers share the work, by key; the same for the life of a checkpoint.  `options`: more settings of librdkafka,
    such as those of SASL and TLS; they are kept in the driver alone, never stored, logged or shown.

    >>> kafka("localhost:9092", "prices", key="ticker")
    KafkaSink(servers='localhost:9092', topic='prices', key='ticker', format='json', writers=1)
    """
    check_arguments(
        "ps.sinks.kafka", servers=(servers, TEXT), topic=(topic, TEXT), key=(key, or_none(TEXT)), format=(format, TEXT),
        writers=(writers, whole(1, 64)), options=(options, secret(or_none(_OPTIONS))),
    )  # fmt: skip
    for name, text in (("servers", servers), ("topic", topic)):
        if not text:
            raise InputError(f"{name} of ps.sinks.kafka is a text; got an empty one")
    require("ps.sinks.kafka", "kafka")
    return KafkaSink(servers, topic, key, format, writers, dict(options or {}))
