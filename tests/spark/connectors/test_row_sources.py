"""Streams that Spark reads arrive as blocks, in order and once, with what does not fit as dead letters."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.app.operators import Source
from penstock.block.envelope import unseal
from penstock.errors import InputError
from penstock.runtime.replica.source_rows import LETTERS
from penstock.spark.sources.file_hint import file_hint
from penstock.spark.sources.source_frames import frame_of, packed_frame


class Arrivals:
    """What came of a source, batch by batch."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.batches: list[list[dict[str, Any]]] = []
        self.letters: list[dict[str, str]] = []

    def take(self, frame: DataFrame, batch: int) -> None:
        rows: list[dict[str, Any]] = []
        for row in sorted(frame.collect(), key=lambda row: row.start):
            assert row.source == self.source.name
            payload = pa.py_buffer(row.payload)
            if row.start == LETTERS:
                self.letters += pa.ipc.open_stream(payload).read_all().to_pylist()
                continue
            block = unseal(payload, self.source.schema)
            assert row.stop - row.start == block.rows
            rows += block.to_arrow().to_pylist()
        self.batches.append(rows)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [row for batch in self.batches for row in batch]


def source_of(connector: Any, schema: Any = None) -> Source:
    app = ps.Application("rows")
    app.source("in", connector, schema)
    return app.graph.sources[0]


def arrived(
    session: SparkSession, source: Source, checkpoint: Path, until: Callable[[Arrivals], bool], timeout_s: float = 120
) -> Arrivals:
    """Runs a query over the source until enough has come."""
    arrivals = Arrivals(source)
    frame = packed_frame(frame_of(session, source), source, numbered=False)
    writer = frame.writeStream.foreachBatch(arrivals.take).option("checkpointLocation", str(checkpoint / "spark"))
    query = writer.start()
    deadline = time.monotonic() + timeout_s
    try:
        while not until(arrivals):
            assert query.isActive, query.exception()
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        query.stop()
    return arrivals


def csv(folder: Path, name: str, text: str) -> None:
    """A file that is whole when it is seen."""
    folder.mkdir(exist_ok=True)
    draft = folder / f".{name}"
    draft.write_text(text)
    draft.replace(folder / name)


def test_a_dataframe_is_packed_in_its_own_order(session: SparkSession, tmp_path: Path) -> None:
    csv(tmp_path / "in", "1.csv", "1,1970-01-01 00:00:01,a,7\n2,,b,-1\n3,,c,300\n")
    frame = session.readStream.schema("n long, at timestamp, `a.b` string, small long").csv(str(tmp_path / "in"))
    schema = {"a.b": "symbol", "n": "float64 not null", "small": "uint8"}
    source = source_of(ps.sources.dataframe(frame), schema)
    arrivals = arrived(session, source, tmp_path / "c", lambda a: len(a.letters) >= 2)
    assert arrivals.rows == [{"a.b": "a", "n": 1.0, "small": 7}]
    assert [letter["row"] for letter in arrivals.letters] == [
        '{"a.b": "b", "n": 2, "small": -1}',
        '{"a.b": "c", "n": 3, "small": 300}',
    ]


def test_spark_counts_at_a_rate(session: SparkSession, tmp_path: Path) -> None:
    source = source_of(ps.sources.rate(1_000))
    arrivals = arrived(session, source, tmp_path / "c", lambda a: len(a.rows) >= 1_000)
    values = sorted(row["value"] for row in arrivals.rows)
    assert values == list(range(len(values)))
    assert arrivals.rows[0]["timestamp"].tzinfo is None


def test_types_that_do_not_convert_are_told_before_anything_runs(session: SparkSession, tmp_path: Path) -> None:
    frame = session.readStream.format("rate").load()
    source = source_of(ps.sources.dataframe(frame), {"value": "string"})
    with pytest.raises(InputError, match="source 'in' needs 'value' as string; its input has int64"):
        packed_frame(frame_of(session, source), source, numbered=False)
    stored = Source("in", (), source.schema, type(source.connector)())
    with pytest.raises(InputError, match="source 'in' lost its DataFrame when the application was stored as text"):
        frame_of(session, stored)


def test_a_dataframe_of_files_alone_has_a_hint(session: SparkSession, tmp_path: Path) -> None:
    files = session.readStream.schema("a long").parquet(str(tmp_path))
    sentence = f"source 'in' is a DataFrame over files and nothing else; ps.sources.parquet('{tmp_path}') reads them"
    assert sentence in str(file_hint(files, "in"))
    assert "ps.sources.csv(" in str(file_hint(session.readStream.schema("a long").csv(str(tmp_path)), "in"))
    assert file_hint(files.where("a > 1"), "in") is None
    assert file_hint(session.readStream.format("rate").load(), "in") is None
