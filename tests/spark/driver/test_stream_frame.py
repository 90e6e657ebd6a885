"""A stream in the middle of a Structured Streaming job: Spark before it, Spark behind it, each tuple once."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.functions import count
from pyspark.sql.functions import max as max_

import penstock as ps


def test_a_stream_goes_on_as_a_streaming_dataframe(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    before = session.readStream.schema("word string, n long, at timestamp").json(str(tmp_path / "in"))
    lines = [f'{{"word": "w{n % 3}", "n": {n}, "at": "2026-11-18T04:00:{n % 60:02d}Z"}}' for n in range(300)]
    (tmp_path / "in" / "a.json").write_text("\n".join(lines))
    app = ps.Application("middle")
    rows = app.source("rows", ps.sources.dataframe(before), {"word": "symbol", "n": "int64", "at": "timestamp"})
    named = rows.lookup("named", session.createDataFrame([("w0", "zero"), ("w1", "one")], "word string, name string"),
                        on="word", inner=True)  # fmt: skip
    even = named.functor("even", where="n % 2 = 0", emit={"name": "name", "n": "n", "at": "at"})
    frame = ps.to_dataframe(even, checkpoint=tmp_path / "c", session=session)
    handle: ps.Handle = frame.penstock  # type: ignore[attr-defined]
    try:
        _until(handle, 100)
        behind = frame.groupBy("name").agg(count("n"), max_("at")).writeStream.outputMode("complete").format("memory")
        query = behind.queryName("counts").option("checkpointLocation", str(tmp_path / "q")).start()
        query.processAllAvailable()
        query.stop()
    finally:
        handle.stop()
    assert frame.isStreaming
    assert frame.schema.simpleString() == "struct<name:string,n:bigint,at:timestamp>"
    last = {"zero": 54, "one": 58}
    wanted = {name: (50, datetime(2026, 11, 18, 4, 0, second, tzinfo=UTC)) for name, second in last.items()}
    found = session.table("counts").collect()
    assert {name: (rows_, at.astimezone(UTC)) for name, rows_, at in found} == wanted


def test_every_type_is_one_of_spark(session: SparkSession, tmp_path: Path) -> None:
    schema = {"a": "uint8", "b": "uint16", "c": "uint32", "d": "uint64", "e": "int8", "f": "bool", "g": "float32",
              "h": "list<symbol>", "i": "list<timestamp>"}  # fmt: skip
    at = datetime(2026, 11, 18, 4, tzinfo=UTC)
    row = {"a": 255, "b": 65_535, "c": 2**32 - 1, "d": 2**64 - 1, "e": -1, "f": True, "g": 0.5, "h": ["x", None],
           "i": [at]}  # fmt: skip
    path = tmp_path / "in"
    path.mkdir()
    own = ps.Application("types").source("rows", ps.sources.parquet(path), schema)
    pq.write_table(pa.Table.from_pylist([row, {}], own.schema), path / "a.parquet")
    frame = ps.to_dataframe(own, checkpoint=tmp_path / "c", session=session)
    handle: ps.Handle = frame.penstock  # type: ignore[attr-defined]
    try:
        _until(handle, 2)
    finally:
        handle.stop()
    query = frame.writeStream.format("memory").queryName("types").start()
    query.processAllAvailable()
    query.stop()
    found = session.table("types").orderBy("a").collect()
    assert [kind for _, kind in frame.dtypes][:4] == ["smallint", "int", "bigint", "decimal(20,0)"]
    assert found[0].asDict() == dict.fromkeys(schema)
    moments = [own.astimezone(UTC) for own in found[1]["i"]]
    assert {**found[1].asDict(), "i": moments} == row


def _until(handle: ps.Handle, tuples: int) -> None:
    deadline_s = time.monotonic() + 180
    while sum(own.tuples_out for own in handle.result.observations) < tuples:
        assert time.monotonic() < deadline_s
        assert not handle.wait(0.1)
        handle.observe()
