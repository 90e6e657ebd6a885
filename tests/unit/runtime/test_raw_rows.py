"""Rows of a DataFrame come to the first element as Spark has them, without attributes that nobody reads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import penstock as ps
from penstock.block.dead_letters import DeadLetters
from penstock.runtime.replica.source_rows import RAW, SCHEMA
from penstock.runtime.sources.raw_rows import raw_block, raw_source, sent_attributes, source_rows_of

TRADES = {"seq": "int64", "ticker": "string", "price": "float64"}


def application(schema: Any = TRADES, source: Any = None) -> ps.Application:
    app = ps.Application("frames")
    app.source("trades", source, schema=schema).functor(
        "dear", where="price > 1", emit={"ticker": "ticker", "twice": "2 * price"}
    ).sink("out")
    return app


def test_only_what_somebody_reads_is_sent() -> None:
    graph = application().graph
    assert raw_source(graph) == graph.sources[0]
    assert sent_attributes(graph, graph.sources[0]) == ("ticker", "price")
    block = raw_block(graph, graph.sources[0], pa.record_batch({"_1": ["a"], "_2": [2.0]}), DeadLetters())
    assert block.to_arrow().to_pylist() == [{"seq": 0, "ticker": "a", "price": 2.0}]


def test_all_of_a_row_is_sent_where_it_may_become_a_dead_letter() -> None:
    schema = pa.schema([pa.field("seq", pa.int64(), nullable=False), ("ticker", pa.string()), ("price", pa.float64())])
    graph, letters = application(schema).graph, DeadLetters()
    source = graph.sources[0]
    assert sent_attributes(graph, source) == ("seq", "ticker", "price")
    rows = pa.record_batch({"_0": [1, None], "_1": ["a", "b"], "_2": [2.0, 3.0]})
    assert raw_block(graph, source, rows, letters).to_arrow().to_pylist() == [{"seq": 1, "ticker": "a", "price": 2.0}]
    assert [letter["row"] for letter in letters.table().to_pylist()] == ['{"seq": null, "ticker": "b", "price": 3.0}']


def test_other_sources_and_numbered_partitions_are_packed() -> None:
    two = application()
    two.source("more", schema=TRADES).sink("all")
    assert raw_source(two.graph) is None
    timed = ps.Application("timed")
    timed.source("ticks", ps.sources.rate(5), event_time="timestamp", out_of_order_s=1.0).sink("out")
    assert raw_source(timed.graph) is None
    assert raw_source(application(source=ps.sources.parquet("in")).graph) is None


def test_a_batch_of_raw_rows_is_one_row_and_packed_ones_stay() -> None:
    graph, raw = application().graph, pa.record_batch({"_1": ["a"], "_2": [2.0]})
    packed = pa.RecordBatch.from_pylist([{"source": "trades", "start": 3, "stop": 4}], SCHEMA)
    first, second = source_rows_of(graph, [raw, raw.slice(0, 0), packed])
    assert (first["source"], first["start"], first["payload"]) == ("trades", RAW, raw)
    assert (second["start"], second["stop"]) == (3, 4)
