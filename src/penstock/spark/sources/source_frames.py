"""All sources of an application as one streaming DataFrame of rows for the first element."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.dataframe import schema_of_dataframe
from penstock.connectors.files.readers import is_one_file, read_source
from penstock.connectors.frames import session_of_frame, streaming_frame_of
from penstock.connectors.offsets import offset_source
from penstock.connectors.planned import client_options
from penstock.connectors.row_checks import check_batch
from penstock.errors import ApplicationError, InputError, Problem
from penstock.host.atomic_file import sync
from penstock.plan.elements.source_partitions import counts_partitions
from penstock.runtime.driver.dead_letter_log import BEFORE_ALL, LetterBox
from penstock.runtime.driver.recording import recorded
from penstock.runtime.planning.source_planner import is_planned
from penstock.runtime.replica.source_rows import SQL, letters_row, packed
from penstock.runtime.sources.offset_reader import OffsetReader
from penstock.runtime.sources.raw_rows import raw_source, sent_attributes
from penstock.spark.sources.driver_stream import driver_stream
from penstock.spark.sources.file_hint import file_hint
from penstock.spark.sources.kafka_hint import kafka_hint

_log = logging.getLogger(__name__)
_PARTITION = "_partition"


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


def prepared(graph: Graph, directory: Path, letters: LetterBox, *, durable: bool = False) -> Graph:
    """The graph as it runs: single files, which have an end, as tables in the checkpoint.

    Malformed rows of those files come before any batch.
    """
    found = DeadLetters()
    tables = {s.name: read_source(s, found) for s in graph.sources if is_one_file(s.connector)}
    if tables:
        folder = directory / "tables"
        graph = recorded(graph, tables, str(folder), found)
        for path in (*folder.iterdir(), folder):
            sync(str(path))
    letters.refuse([found.table()])
    letters.add(BEFORE_ALL, [found.table()], durable=durable)
    return graph


def session_of(graph: Graph) -> SparkSession | None:
    """The session of the user's DataFrames, which the query must share; None where there are none."""
    sessions = {session_of_frame(source.connector) for source in graph.sources} - {None}
    if len(sessions) > 1:
        raise InputError("the DataFrames of an application's sources are of one Spark session; got several")
    return next(iter(sessions), None)


def source_frame(
    session: SparkSession, graph: Graph, stored: Graph, directory: Path, opens: Callable[[], float]
) -> DataFrame:
    """The rows of all sources; `stored` is the graph in the checkpoint, `graph` the one with the user's frames.

    `opens` is called when Spark asks for rows for the first time.
    """
    frame = driver_stream(session, OffsetReader(directory, opens))
    for source in stored.sources:  # those of the user's session
        if offset_source(source, 0) is None and not is_planned(source):
            own = graph.operator(source.name)
            assert isinstance(own, Source)
            rows = frame_of(session, own)
            for hint in (file_hint(rows, own.name), kafka_hint(rows, own.name)):
                if hint is not None:
                    _log.warning(hint)
            if raw_source(stored) == source:
                return _with_raw(frame, rows, own, sent_attributes(stored, source))
            frame = frame.union(packed_frame(rows, own, numbered=counts_partitions(stored, source)))
    return frame


def _with_raw(planned: DataFrame, raw: DataFrame, source: Source, names: Sequence[str]) -> DataFrame:
    """The rows of a DataFrame, which the first element reads itself; a planned source without tuples only beats."""
    chosen = _chosen(raw, source, names if _all_convert(raw, source) else source.schema.names)
    nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in chosen.schema.fields]
    return planned.select(*nothing).union(chosen)


def _all_convert(raw: DataFrame, source: Source) -> bool:
    """Whether no value of a DataFrame can fail to convert."""
    there = schema_of_dataframe(_chosen(raw, source, source.schema.names))
    return all(given.type == field.type for given, field in zip(there, source.schema, strict=True))


def _chosen(frame: DataFrame, source: Source, names: Sequence[str]) -> DataFrame:
    """Some attributes of a DataFrame, each once and of types that convert."""
    chosen = frame.select(*(F.col(f"`{name.replace('`', '``')}`") for name in source.schema.names))
    check_batch(schema_of_dataframe(chosen).empty_table(), source)
    places = [f"_{i}" for i in range(len(source.schema))]  # mapInArrow stumbles over a dot in a name
    return chosen.toDF(*places).select(*(places[source.schema.get_field_index(name)] for name in names))


@contextlib.contextmanager
def given_options(session: SparkSession) -> Iterator[None]:
    """A query that starts meanwhile gives its tasks the settings of sources that are never stored.

    Spark redacts properties of such a name in its event log, but only of keys that its configuration has, too.
    """
    context, text = session.sparkContext, client_options.to_property()
    if text is None:
        yield
        return
    context._jsc.sc().conf().set(client_options.PROPERTY, "given to tasks")
    context.setLocalProperty(client_options.PROPERTY, text)
    try:
        yield
    finally:
        context.setLocalProperty(client_options.PROPERTY, None)  # type: ignore[arg-type]


def frame_of(session: SparkSession, source: Source) -> DataFrame:
    """The streaming DataFrame of a source."""
    frame: DataFrame | None = streaming_frame_of(source.connector, session)
    if frame is not None:
        return frame
    raise InputError(f"source '{source.name}' lost its DataFrame when the application was stored as text; build the "
                     "application again with ps.sources.dataframe(...)")  # fmt: skip


def packed_frame(frame: DataFrame, source: Source, *, numbered: bool) -> DataFrame:
    """A streaming DataFrame with a row per block of the source, and one per task for its dead letters.

    `numbered`: with the numbers of partitions within the source, which cost a column; a task knows only its number
    among those of all sources.
    """
    chosen, without_frame = _chosen(frame, source, source.schema.names), replace(source, connector=None)
    if numbered:
        with_numbers = chosen.withColumn(_PARTITION, F.spark_partition_id())
        return with_numbers.mapInArrow(functools.partial(_pack_numbered, without_frame), SQL)
    return chosen.mapInArrow(functools.partial(_pack, without_frame), SQL)


def _pack(source: Source, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The body of one task; partitions and their order are Spark's, the same when the task runs again."""
    context = TaskContext.get()
    assert context is not None
    letters = DeadLetters()
    named = (batch.rename_columns(source.schema.names) for batch in batches)
    yield from packed(named, source, context.partitionId(), letters)
    yield from letters_row(source.name, letters)


def _pack_numbered(source: Source, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same for rows whose last column is the number of their partition within the source."""
    letters, rows = DeadLetters(), 0
    for batch in batches:
        partition = batch.column(batch.num_columns - 1)[0].as_py() if batch.num_rows else 0
        own = batch.select(range(batch.num_columns - 1)).rename_columns(source.schema.names)
        yield from packed([own], source, partition, letters, rows)
        rows += batch.num_rows
    yield from letters_row(source.name, letters)
