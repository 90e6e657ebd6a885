"""All sources of an application as one streaming DataFrame of rows for the first element."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.app.graph import Graph
from penstock.app.operators import Operator, Sink, Source
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.csv import CsvSource
from penstock.connectors.dataframe import DataFrameSource, schema_of_dataframe
from penstock.connectors.files.readers import is_one_file, read_source
from penstock.connectors.offsets import offset_source
from penstock.connectors.parquet import ParquetSink, ParquetSource
from penstock.connectors.rate import RateSource
from penstock.connectors.row_checks import check_batch
from penstock.connectors.trace.source import TraceSource
from penstock.control.goals.goal import Goal
from penstock.errors import ApplicationError, InputError, Problem
from penstock.host.atomic_file import sync
from penstock.runtime.driver.dead_letter_log import BEFORE_ALL, LetterBox
from penstock.runtime.driver.recording import recorded
from penstock.runtime.replica.source_rows import SQL, first_of, letters_row, packed
from penstock.spark.session.registration import register
from penstock.spark.sources.file_reader import files_frame
from penstock.spark.sources.offset_reader import NAME, OffsetDataSource


def check_sources(graph: Graph) -> None:
    """All sources that have no tuples of their own, reported together."""
    problems = []
    for source in graph.sources:
        where = f"operator '{source.name}'" + (f" ({source.place})" if source.place else "")
        if source.connector is None:
            hint = "give it one, such as ps.sources.csv(...), or a table to ps.evaluate"
            problems.append(Problem(where, "has no source of its own to run from", hint))
    if problems:
        raise ApplicationError(problems)


def check_goal(graph: Graph, goal: Goal | None) -> None:
    """InputError for a latency goal where no source says when its tuples arrive: nothing could be measured."""
    if goal is None or (goal.mean_s is None and goal.p95_s is None):
        return
    connectors = [source.connector for source in graph.sources]
    if not any(isinstance(own, TraceSource) and own.has_schedule for own in connectors):
        names = ", ".join(f"'{source.name}'" for source in graph.sources)
        raise InputError(
            "a latency goal counts from the scheduled arrival of tuples, and needs a source with a schedule; got "
            f"{names} without one; take a throughput goal, or ps.sources.trace(...) with a rate"
        )


def prepared(graph: Graph, directory: Path, letters: LetterBox) -> Graph:
    """The graph as it runs: single files, which have an end, as tables in the checkpoint, and paths that tasks can use.

    Malformed rows of those files come before any batch.
    """
    found = DeadLetters()
    tables = {s.name: read_source(s, found) for s in graph.sources if is_one_file(s.connector)}
    if tables:
        folder = (directory / "tables").absolute()
        graph = recorded(graph, tables, str(folder), found)
        for path in (*folder.iterdir(), folder):
            sync(str(path))
    letters.refuse([found.table()])
    letters.add(BEFORE_ALL, [found.table()])
    return replace(graph, operators=tuple(map(_with_absolute_path, graph.operators)))


def _with_absolute_path(operator: Operator) -> Operator:
    """Tasks write a sink's files, and may work in another directory than the driver."""
    if isinstance(operator, Sink) and isinstance(operator.connector, ParquetSink):
        path = str(Path(operator.connector.path).absolute())
        return replace(operator, connector=replace(operator.connector, path=path))
    return operator


def session_of(graph: Graph) -> SparkSession | None:
    """The session of the user's DataFrames, which the query must share; None where there are none."""
    sessions = {s.connector.frame.sparkSession for s in graph.sources if _has_frame(s)}  # type: ignore[union-attr]
    if len(sessions) > 1:
        raise InputError("the DataFrames of an application's sources are of one Spark session; got several")
    return next(iter(sessions), None)


def _has_frame(source: Source) -> bool:
    return isinstance(source.connector, DataFrameSource) and source.connector.frame is not None


def source_frame(session: SparkSession, graph: Graph, stored: Graph, directory: Path) -> DataFrame:
    """The rows of all sources; `stored` is the graph in the checkpoint, `graph` the one with the user's frames."""
    register(session, OffsetDataSource)
    frame = session.readStream.format(NAME).option("checkpoint", str(directory)).load()
    for source in stored.sources:
        if offset_source(source, 0) is None:
            own = graph.operator(source.name)
            assert isinstance(own, Source)
            frame = frame.union(rows_of(session, own, directory))
    return frame


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
