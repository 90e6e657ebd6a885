"""CSV files as a source and as a sink."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.block.block import Block
from penstock.connectors.files.csv_lines import Lines, read_csv
from penstock.connectors.files.csv_ranges import byte_ranges, place_behind, scanned
from penstock.connectors.files.growing_files import FilePlace, GrowingFiles
from penstock.connectors.files.staged_file import StagedFile, claim_folder, publish_files, sweep_staged
from penstock.connectors.files.writers import flat
from penstock.connectors.planned.source_port import Reading, Split
from penstock.connectors.port import FILES_PER_BATCH, SourceSpec
from penstock.connectors.sinks.sink_port import Claim, Delivered, Delivery, Part, SinkPromise, Sweep


@dataclass(frozen=True, slots=True)
class CsvSource(GrowingFiles):
    """Lines of CSV files; `columns` picks fields by number from 1, in the schema's order (None: all, in order).

    `path` is a file, a directory or a pattern; on Spark the last two are streams that grow by whole files, at most
    `files_per_batch` of them in one micro-batch.
    """

    path: str
    header: bool = True
    columns: tuple[int, ...] | None = None
    files_per_batch: int = FILES_PER_BATCH

    def problems(self, source: SourceSpec) -> Sequence[str]:
        found = list(GrowingFiles.problems(self, source))
        if self.columns is not None and len(self.columns) != len(source.schema):
            has = f"has {len(source.schema)} attributes in its schema"
            found.insert(0, f"reads {len(self.columns)} columns by number but {has}")
        return found

    def rows_of(self, path: str) -> int | None:
        return scanned(path).lines

    def cut(self, path: str, place: FilePlace, most: int, least: int) -> FilePlace | None:
        if not scanned(path).can_be_cut:
            return None
        return FilePlace(place.files, place.rows + most, place_behind(path, place.position, most))

    def ranges(self, path: str, number: int, begin: FilePlace, end: FilePlace | None) -> Iterator[Split]:
        yield from byte_ranges(path, number, begin.position, None if end is None else end.position)

    def read(self, split: Split, reading: Reading) -> Iterator[pa.Table]:
        lines = Lines(Path(split.part["path"]), split.part["begin"], split.part["end"])
        yield read_csv(lines, self, reading.source, reading.letters)


@dataclass(frozen=True, slots=True)
class CsvSink:
    """A directory of CSV files, in the total order when files are read in the order of their names."""

    path: str

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("exactly once")

    def claim(self, claim: Claim) -> None:
        claim_folder(self.path, claim)

    def open(self, part: Part) -> StagedFile:
        return StagedFile(self.path, part, lambda path: _CsvWriter(path, part.schema))

    def write(self, opened: StagedFile, tuples: Block) -> None:
        opened.write(tuples)

    def publish(self, delivery: Delivery) -> Delivered:
        return Delivered(publish_files(self.path, ".csv", delivery))

    def sweep(self, sweep: Sweep) -> None:
        sweep_staged(self.path, sweep)


class _CsvWriter:
    """Tables as CSV lines, in columns that CSV can hold."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        from pyarrow import csv

        self._writer = csv.CSVWriter(path, flat(schema.empty_table()).schema)

    def write_table(self, table: pa.Table, rows: int) -> None:
        self._writer.write_table(flat(table))

    def close(self) -> None:
        self._writer.close()
