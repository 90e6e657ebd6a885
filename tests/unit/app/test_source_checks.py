"""Connectors are checked when they are used, and what lives in the driver alone is not stored."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as t

import penstock as ps
from penstock.app.serialise import graph_from_json, graph_to_json
from penstock.connectors.dataframe import DataFrameSource
from penstock.connectors.functions import CallbackSink

COLUMNS = t.StructType(
    [
        t.StructField("name", t.StringType()),
        t.StructField("small", t.ByteType(), nullable=False),
        t.StructField("number", t.LongType()),
        t.StructField("ratio", t.FloatType()),
        t.StructField("at", t.TimestampType()),
        t.StructField("local", t.TimestampNTZType()),
        t.StructField("tags", t.ArrayType(t.StringType())),
    ]
)


@dataclass
class Frame:
    """What is asked of a DataFrame before Spark runs."""

    schema: t.StructType
    isStreaming: bool = True

    @property
    def columns(self) -> list[str]:
        return self.schema.names


def problems(source: Any, schema: Any = None) -> list[str]:
    app = ps.Application("connected")
    app.source("in", source, schema)
    return [str(problem).partition(") ")[2] for problem in app.problems]


def test_a_dataframe_gives_the_schema() -> None:
    app = ps.Application("frames")
    stream = app.source("in", ps.sources.dataframe(Frame(COLUMNS)))
    assert app.problems == ()
    time, words = pa.timestamp("us"), pa.list_(pa.string())
    assert stream.schema.types == [pa.string(), pa.int8(), pa.int64(), pa.float32(), time, time, words]
    assert [field.name for field in stream.schema if not field.nullable] == ["small"]


def test_columns_of_other_types_are_named_together() -> None:
    columns = t.StructType(
        [
            t.StructField("price", t.DecimalType(10, 2)),
            t.StructField("ok", t.LongType()),
            t.StructField("days", t.ArrayType(t.DateType())),
        ]
    )
    (sentence,) = problems(ps.sources.dataframe(Frame(columns)))
    assert "'price' (decimal(10,2)), 'days' (array<date>); cast them" in sentence


def test_a_schema_of_ones_own_leaves_columns_out_and_must_fit() -> None:
    frame = ps.sources.dataframe(Frame(COLUMNS))
    assert problems(frame, {"number": "int64", "name": "symbol"}) == []
    assert problems(frame, {"numbr": "int64"}) == [
        "reads 'numbr' in its schema, which its input does not have; it has: name, small, number, ratio, at, local, "
        "tags; did you mean 'number'?"
    ]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (ps.sources.dataframe(Frame(COLUMNS, isStreaming=False)), "needs a streaming DataFrame (spark.readStream...)"),
        (ps.sources.dataframe("frame"), "needs a streaming DataFrame in ps.sources.dataframe(...); got 'frame'"),
        (ps.sources.rate(0), "needs rows_per_second as a whole number of at least 1; got 0"),
        (ps.sources.csv("in", files_per_batch=0), "needs files_per_batch as a whole number of at least 1; got 0"),
        (ps.sources.parquet("in", files_per_batch=1.5), "needs files_per_batch as a whole number"),  # type: ignore[arg-type]
    ],
)
def test_sources_that_do_not_fit_are_told(source: Any, sentence: str) -> None:
    schema = {"x": "int64"} if not isinstance(source, DataFrameSource) else None
    assert any(problem.startswith(sentence) for problem in problems(source, schema))


@pytest.mark.parametrize(
    ("sink", "sentence"),
    [
        (ps.sinks.parquet("out", compression="lzx4"), "has the compression 'lzx4'; there are: none, snappy, gzip"),
        (ps.sinks.callback(None), "needs a function of a batch's tuples and its id; got None"),  # type: ignore[arg-type]
        (ps.sinks.foreach_batch(3), "needs a function of a batch's tuples and its id; got 3"),  # type: ignore[arg-type]
        (ps.sinks.kafka("h:1", "t", key="y"), "has the key 'y', which its stream does not have; it has: x"),
        (ps.sinks.kafka("h:1", "t", key="x", format="raw"), "writes one attribute in addition to its key"),
        (ps.sinks.postgres("", "t", upsert_by="y"), "is upserted by 'y', which its stream does not have; it has: x"),
        (ps.sinks.console(-1), "needs rows as a whole number of at least 0; got -1"),
    ],
)
def test_sinks_that_do_not_fit_are_told(sink: Any, sentence: str) -> None:
    app = ps.Application("connected")
    app.source("in", schema={"x": "int64"}).sink("out", sink)
    (problem,) = app.problems
    assert sentence in str(problem)


def keep(table: pa.Table, batch: int) -> None:
    return None


def test_frames_and_functions_are_not_pickled() -> None:
    app = ps.Application("driver")
    app.source("in", ps.sources.dataframe(Frame(COLUMNS))).sink("out", ps.sinks.callback(lambda table, batch: None))
    stored = pickle.loads(pickle.dumps(app.graph))
    assert stored.sources[0].connector == DataFrameSource(None)
    assert stored.sources[0].schema == app.graph.sources[0].schema
    assert stored.sinks[0].connector == CallbackSink(None)


def test_json_keeps_named_functions_and_leaves_frames_out() -> None:
    app = ps.Application("driver")
    app.source("in", ps.sources.dataframe(Frame(COLUMNS))).sink("out", ps.sinks.callback(keep))
    again = graph_from_json(graph_to_json(app.graph))
    assert again == app.graph
    assert again.sinks[0].connector == CallbackSink(keep)
    assert again.sources[0].connector.frame is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("source", "schema"),
    [
        (ps.sources.rate(5), None),
        (ps.sources.dataframe(Frame(COLUMNS)), None),
        (ps.sources.kafka("h:1", "t"), {"x": "int64"}),
        (ps.sources.websocket("ws://h"), {"x": "int64"}),
    ],
)
def test_streams_without_end_are_not_evaluated(source: Any, schema: Any) -> None:
    app = ps.Application("endless")
    app.source("in", source, schema).sink("out")
    with pytest.raises(
        ps.errors.InputError, match=r"source 'in' reads .*, which has no end; give its tuples as a table"
    ):
        ps.evaluate(app)


def test_a_trace_without_an_end_is_not_evaluated() -> None:
    app = ps.Application("endless")
    app.source("in", ps.sources.trace()).sink("out")
    with pytest.raises(
        ps.errors.InputError,
        match=r"source 'in' reads a trace, which has no end; give the trace a total, or its tuples as a table: ",
    ):
        ps.evaluate(app)
