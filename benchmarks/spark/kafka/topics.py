"""Topics of trades, by ticker to partitions: JSON messages of a tuple, and Arrow messages of a thousand."""

from __future__ import annotations

import itertools
import json
import time
import uuid
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from penstock import sources

PARTITIONS = 12
BY_MESSAGE = 1000  # tuples of an Arrow message


def trades(tuples: int, keys: int) -> pa.Table:
    """A stretch of the trace, with the partition of each tuple: a ticker is in one, so that its order is kept."""
    table = sources.trace("unbounded", keys=keys, ticker="string").table(0, tuples)
    words = table["ticker"].combine_chunks().dictionary_encode()
    homes = np.array([zlib.crc32(word.encode()) % PARTITIONS for word in words.dictionary.to_pylist()])
    return table.append_column("partition", pa.array(homes[words.indices.to_numpy()]))


def new_topic(servers: str) -> str:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    client, name = AdminClient({"bootstrap.servers": servers}), f"trades-{uuid.uuid4().hex[:8]}"
    for created in client.create_topics([NewTopic(name, PARTITIONS)]).values():
        created.result(60)
    return name


def fill(servers: str, topic: str, table: pa.Table, format_: str) -> None:
    """Writes all tuples, each partition's in their order."""
    for partition in range(PARTITIONS):
        own = table.filter(pa.compute.equal(table["partition"], partition)).drop_columns("partition")
        rows = [own.slice(begin, BY_MESSAGE) for begin in range(0, own.num_rows, BY_MESSAGE)]
        for part in rows:
            if format_ == "arrow":
                send(servers, topic, partition, [_arrow(part)])
            else:  # with keys, without which some peers have no state by ticker
                send(servers, topic, partition, message_values(part), part["ticker"].to_pylist())
    producer(servers).flush(120)


def is_as_sent(servers: str, topic: str, table: pa.Table, format_: str) -> bool:
    """Whether each partition has what `fill` was to write, message by message, as a plain consumer reads it."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": servers, "group.id": uuid.uuid4().hex, "enable.partition.eof": True}
    for partition in range(PARTITIONS):
        own = table.filter(pa.compute.equal(table["partition"], partition)).drop_columns("partition")
        parts = (own.slice(begin, BY_MESSAGE) for begin in range(0, own.num_rows, BY_MESSAGE))
        wanted = itertools.chain.from_iterable([_arrow(p)] if format_ == "arrow" else message_values(p) for p in parts)
        consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        consumer.assign([TopicPartition(topic, partition, 0)])
        try:
            if any(_next(consumer) != value for value in wanted) or _next(consumer) is not None:
                return False
        finally:
            consumer.close()
    return True


def _next(consumer: Any) -> bytes | None:
    """The next value; None at the end of the partition."""
    message = consumer.poll(60.0)
    value: bytes | None = None if message is None or message.error() is not None else message.value()
    return value


_producers: dict[str, Any] = {}


def producer(servers: str) -> Any:
    from confluent_kafka import Producer

    if servers not in _producers:
        settings = {
            "bootstrap.servers": servers,
            "linger.ms": 20,
            "compression.type": "lz4",
            "enable.idempotence": True,
        }
        _producers[servers] = Producer(settings)  # else a request that is sent again may overtake or repeat another
    return _producers[servers]


def send(servers: str, topic: str, partition: int, values: list[bytes], keys: list[str] | None = None) -> None:
    own = producer(servers)
    for value, key in zip(values, keys or itertools.repeat(None, len(values)), strict=True):
        while True:
            try:
                own.produce(topic, value, partition=partition, key=key)
                break
            except BufferError:
                own.poll(0.05)
    own.poll(0)


def send_paced(servers: str, topic: str, table: pa.Table, rate_tuples_s: float, seconds: float) -> int:
    """Sends JSON messages at a rate for so long; gives how many."""
    begin, sent = time.monotonic(), 0
    homes = table["partition"].to_pylist()
    while (spent_s := time.monotonic() - begin) < seconds:
        due = min(int(spent_s * rate_tuples_s), table.num_rows)
        for offset, value in enumerate(message_values(table.slice(sent, due - sent).drop_columns("partition")), sent):
            send(servers, topic, homes[offset], [value])
        sent = due
        time.sleep(0.01)
    producer(servers).flush(60)
    return sent


def message_values(table: pa.Table) -> list[bytes]:
    """A JSON object for each tuple."""
    return [json.dumps(row, separators=(",", ":")).encode() for row in table.to_pylist()]


def _arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
