"""Sources that Spark reads: their rows as blocks, packed once, in the rows that the first element takes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.app.operators import Source
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.csv import CsvSource
from penstock.connectors.dataframe import DataFrameSource, schema_of_dataframe
from penstock.connectors.parquet import ParquetSource
from penstock.connectors.rate import RateSource
from penstock.connectors.row_checks import check_batch
from penstock.errors import InputError
from penstock.runtime.replica.source_rows import SQL, first_of, letters_row, packed
from penstock.spark.sources.file_reader import files_frame


def rows_of(session: SparkSession, source: Source, checkpoint: str | Path) -> DataFrame:
    """A streaming DataFrame with a row per block of the source, and one per task for its dead letters."""
    match source.connector:
        case CsvSource() | ParquetSource():
            return files_frame(session, source, Path(checkpoint) / "files")
        case RateSource(rows_per_second):
            frame = session.readStream.format("rate").option("rowsPerSecond", rows_per_second).load()
            return _packed_frame(frame, source)
        case DataFrameSource(frame) if frame is not None:
            return _packed_frame(frame, source)
    raise InputError(f"source '{source.name}' has lost its DataFrame on the way through a file; build the application "
                     "anew with ps.sources.dataframe(...)")  # fmt: skip


def _packed_frame(frame: DataFrame, source: Source) -> DataFrame:
    chosen = frame.select(*(F.col(f"`{name.replace('`', '``')}`") for name in source.schema.names))
    check_batch(schema_of_dataframe(chosen).empty_table(), source)
    function = functools.partial(_pack, replace(source, connector=None))
    # mapInArrow looks columns up by name, and stumbles over a dot in one
    return chosen.toDF(*(f"_{i}" for i in range(len(source.schema)))).mapInArrow(function, SQL)


def _pack(source: Source, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The body of one task; partitions and their order are Spark's, the same when the task runs again."""
    context = TaskContext.get()
    assert context is not None
    letters = DeadLetters()
    named = (batch.rename_columns(source.schema.names) for batch in batches)
    yield from packed(named, source, first_of(context.partitionId()), letters)
    yield from letters_row(source.name, letters)
