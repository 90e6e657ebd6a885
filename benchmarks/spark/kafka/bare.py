"""A bare consumer: batched `consume` and the parser alone, a process for each core."""

from __future__ import annotations

import io
import multiprocessing
import time
import uuid
from typing import Any

import pyarrow as pa
import pyarrow.json

from benchmarks.spark.kafka.topics import PARTITIONS

_SETTINGS = {"isolation.level": "read_committed", "enable.partition.eof": True, "auto.offset.reset": "earliest",
             "enable.auto.commit": False, "queued.min.messages": 100_000,
             "fetch.queue.backoff.ms": 20}  # fmt: skip  # its default of 1 s more than halves the rate
_WITHIN_S = 0.05  # `consume` waits for all that it was asked for: what it waits for in vain is not the consumer's work
_AT_ONCE = {"json": 2_048, "arrow": 64}
_PARSED_AT_ONCE = 32_768
SCHEMA = pa.schema({"seq": pa.int64(), "ticker": pa.string(), "ttype": pa.string(), "price": pa.float64(),
                    "volume": pa.float64()})  # fmt: skip


def bare_tuples_s(servers: str, topic: str, format_: str, cores: int) -> float:
    """Tuples of a topic over the time from the first message of any process to the end of the last."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(cores) as pool:
        pool.map(_nothing, range(cores))  # processes have started
        shares = [(servers, topic, format_, list(range(core, PARTITIONS, cores))) for core in range(cores)]
        found = pool.starmap(_consumed, shares, chunksize=1)
    return sum(own[0] for own in found) / (max(own[2] for own in found) - min(own[1] for own in found))


def _nothing(core: int) -> int:
    return core


def _consumed(servers: str, topic: str, format_: str, partitions: list[int]) -> tuple[int, float, float]:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({**_SETTINGS, "bootstrap.servers": servers, "group.id": uuid.uuid4().hex})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    found = consumer.consume(1, 60.0)
    begin_s = time.time()
    tuples, ended, values = 0, set[int | None](), list[Any]()
    while True:
        ended |= {message.partition() for message in found if message.error() is not None}
        values += [message.value() for message in found if message.error() is None]
        is_over = len(ended) == len(partitions)
        if is_over or len(values) >= _PARSED_AT_ONCE or format_ == "arrow":
            tuples += _parsed(values, format_)
            values.clear()
        if is_over:
            break
        found = consumer.consume(_AT_ONCE[format_], _WITHIN_S)
    end_s = time.time()
    consumer.close()
    return tuples, begin_s, end_s


def _parsed(values: list[Any], format_: str) -> int:
    if not values:
        return 0
    if format_ == "arrow":
        return sum(pa.ipc.open_stream(value).read_all().num_rows for value in values)
    reading = pyarrow.json.ReadOptions(use_threads=False, block_size=1 << 26)
    parsing = pyarrow.json.ParseOptions(explicit_schema=SCHEMA)
    text = io.BytesIO(b"\n".join(values))
    return int(pyarrow.json.read_json(text, read_options=reading, parse_options=parsing).num_rows)
