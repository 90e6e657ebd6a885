"""Growing directories of files in Spark: the driver keeps a log of files, tasks read them with Arrow."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.app.serialise import graph_from_json, graph_to_json
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.csv import CsvSource
from penstock.connectors.files.file_log import FileLog
from penstock.connectors.files.paths import files_of
from penstock.connectors.files.readers import read_one
from penstock.connectors.files.writers import file_name
from penstock.connectors.parquet import ParquetSource
from penstock.errors import InputError
from penstock.runtime.replica.source_rows import BLOCK_ROWS, SQL, first_of, letters_row, packed
from penstock.spark.session.registration import register

NAME = "penstock_files"
_LIST_EVERY_S = 0.25
Offset = dict[str, int]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file, or some row groups of one (`first_row` is the number of their first row)."""

    number: int
    path: str
    size_bytes: int
    first_row: int = 0
    groups: tuple[int, ...] = ()


@dataclass
class Share(InputPartition):
    """What one task reads, in order."""

    parts: tuple[FilePart, ...]


class FileReader(DataSourceStreamReader):
    """An offset is a number of files of the log; the log, not the directory, says which they are."""

    def __init__(self, options: dict[str, str]) -> None:
        (self.source,) = graph_from_json(options["graph"]).sources
        assert isinstance(self.source.connector, CsvSource | ParquetSource)
        self.connector = self.source.connector
        self._log_path, self._tasks = Path(options["log"]), int(options["tasks"])
        self._log: FileLog | None = None
        self._listed_s = float("-inf")

    def initialOffset(self) -> Offset:
        return {"files": 0}

    def latestOffset(self, start: Offset, limit: object) -> Offset:
        log, wanted = self._opened(), start["files"] + self.connector.files_per_batch
        if len(log) < wanted and time.monotonic() - self._listed_s >= _LIST_EVERY_S:
            log.add(files_of(self.connector.path))
            self._listed_s = time.monotonic()
        return {"files": max(start["files"], min(len(log), wanted))}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        numbers = range(start["files"], end["files"])
        parts = [part for number in numbers for part in self._parts(number)]
        return [Share(own) for own in shares(parts, self._tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Share)
        letters = DeadLetters()
        for part in partition.parts:
            try:
                yield from packed(
                    self._batches(part, letters), self.source, first_of(part.number) + part.first_row, letters
                )
            except InputError as error:  # a file that is something else costs only itself
                letters.add(self.source.name, str(error), {"file": part.path})
        yield from letters_row(self.source.name, letters)

    def commit(self, end: Offset) -> None:
        pass

    def _opened(self) -> FileLog:
        """Opened when first asked for, since tasks make a reader too."""
        if self._log is None:
            self._log = FileLog(self._log_path)
        return self._log

    def _parts(self, number: int) -> Iterator[FilePart]:
        path = self._opened().files[number]
        size_bytes = Path(path).stat().st_size
        if isinstance(self.connector, ParquetSource):
            yield from _row_groups(number, path, size_bytes)
        else:
            yield FilePart(number, path, size_bytes)

    def _batches(self, part: FilePart, letters: DeadLetters) -> Iterator[pa.RecordBatch]:
        if part.groups:
            names = self.source.schema.names
            file = pyarrow.parquet.ParquetFile(part.path)
            there = [name for name in names if name in file.schema_arrow.names]
            yield from file.iter_batches(BLOCK_ROWS, row_groups=list(part.groups), columns=there)
        else:
            yield from read_one(Path(part.path), self.connector, self.source, letters).to_batches(BLOCK_ROWS)


def _row_groups(number: int, path: str, size_bytes: int) -> Iterator[FilePart]:
    """A part per row group; a file that has none, or is none of Parquet, is one part."""
    try:
        footer = pyarrow.parquet.read_metadata(path)
    except pa.ArrowException:
        yield FilePart(number, path, size_bytes)
        return
    first = 0
    for group in range(footer.num_row_groups):
        own = footer.row_group(group)
        yield FilePart(number, path, own.total_byte_size, first, (group,))
        first += own.num_rows


def shares(parts: list[FilePart], tasks: int) -> Iterator[tuple[FilePart, ...]]:
    """Parts dealt out in order to at most so many tasks, of about equal bytes."""
    total = sum(part.size_bytes + 1 for part in parts)
    own: list[FilePart] = []
    share, done = 0, 0
    for part in parts:
        middle = done + (part.size_bytes + 1) / 2
        if own and int(middle * tasks / total) > share:
            yield tuple(own)
            own = []
        share = int(middle * tasks / total)
        own.append(part)
        done += part.size_bytes + 1
    if own:
        yield tuple(own)


class FileDataSource(DataSource):
    """The data source that Spark calls by name."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SQL

    def streamReader(self, schema: object) -> DataSourceStreamReader:
        return FileReader(dict(self.options))


def files_frame(session: SparkSession, source: Source, logs: Path) -> DataFrame:
    """The source's files as a stream; paths are made absolute, since tasks run elsewhere."""
    register(session, FileDataSource)
    return (
        session.readStream.format(NAME)
        .option("graph", graph_to_json(Graph(source.name, (_absolute(source),))))
        .option("log", str((logs / file_name(source.name)).absolute()))
        .option("tasks", session.sparkContext.defaultParallelism)
        .load()
    )


def _absolute(source: Source) -> Source:
    connector = source.connector
    assert isinstance(connector, CsvSource | ParquetSource)
    return replace(source, connector=replace(connector, path=str(Path(connector.path).absolute())))
