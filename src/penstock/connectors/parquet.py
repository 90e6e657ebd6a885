"""Parquet files as a source and as a sink."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.block.block import Block
from penstock.connectors.files.growing_files import FilePlace, GrowingFiles
from penstock.connectors.files.layout.compaction import Compaction
from penstock.connectors.files.layout.partitions import key_of, partition_problems
from penstock.connectors.files.layout.staged_partitions import StagedPartitions, publish_partitions, sweep_partitions
from penstock.connectors.files.parquet_ranges import cut_between, group_rows, ranges_between, read_range
from penstock.connectors.files.staged_file import StagedFile, claim_folder, publish_files, sweep_staged
from penstock.connectors.files.whole_files import read_parquet
from penstock.connectors.planned.source_port import Reading, Split
from penstock.connectors.port import FILES_PER_BATCH
from penstock.connectors.sinks.sink_port import Claim, Delivered, Delivery, Part, SinkPromise, Sweep
from penstock.errors import Problem, did_you_mean


@dataclass(frozen=True, slots=True)
class ParquetSource(GrowingFiles):
    """Rows of Parquet files; paths as with `CsvSource`."""

    path: str
    files_per_batch: int = FILES_PER_BATCH

    measured_ahead = 64  # footers are quick to read

    def rows_of(self, path: str) -> int | None:
        groups = group_rows(path)
        return None if groups is None else sum(groups)

    def cut(self, path: str, place: FilePlace, most: int, least: int) -> FilePlace | None:
        row = cut_between(group_rows(path) or (), place.rows, most, least)
        return None if row is None else FilePlace(place.files, row, row)

    def ranges(self, path: str, number: int, begin: FilePlace, end: FilePlace | None) -> Iterator[Split]:
        yield from ranges_between(path, number, begin.rows, None if end is None else end.rows)

    def read(self, split: Split, reading: Reading) -> Iterator[pa.RecordBatch | pa.Table]:
        if split.part["group"] is None:
            yield read_parquet(Path(split.part["path"]), reading.source)
        else:
            yield from read_range(split.part, reading)


COMPRESSIONS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")


@dataclass(frozen=True, slots=True)
class ParquetSink:
    """A directory of Parquet files; `ordered`: in the total order when files are read in the order of their names.

    `partition_by`: folders by attribute, or by the day of one (`date(at)`).  `compact_files`: so many micro-batches
    become one file.  What stands last was added by later versions.
    """

    path: str
    ordered: bool = False
    compression: str = "lz4"
    partition_by: tuple[str, ...] = ()
    compact_files: int | None = None

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("exactly once", "driver" if self.ordered else "replicas", in_order=self.ordered)

    def problems(self) -> Iterator[Problem]:
        if self.compression not in COMPRESSIONS:
            sentence = f"has the compression {self.compression!r}; there are: {', '.join(COMPRESSIONS)}"
            yield Problem("", sentence, did_you_mean(str(self.compression), COMPRESSIONS))

    def schema_problems(self, schema: pa.Schema) -> Iterator[Problem]:
        yield from partition_problems(self.partition_by, schema)

    def claim(self, claim: Claim) -> None:
        claim_folder(self.path, claim)

    def open(self, part: Part) -> StagedFile | StagedPartitions:
        from pyarrow import parquet

        if self.partition_by:
            return StagedPartitions(self.path, part, [key_of(text) for text in self.partition_by], self.compression)
        return StagedFile(
            self.path, part, lambda path: parquet.ParquetWriter(path, part.schema, compression=self.compression)
        )

    def write(self, opened: StagedFile | StagedPartitions, tuples: Block) -> None:
        opened.write(tuples)

    def publish(self, delivery: Delivery) -> Delivered:
        is_stream = all(name.startswith("batch-") for name in delivery.parts)  # and no finite evaluation
        if is_stream and (compaction := self._compaction) is not None:
            return Delivered(compaction.publish(delivery))
        if not self.partition_by:
            return Delivered(publish_files(self.path, ".parquet", delivery))
        return Delivered(publish_partitions(self.path, Path(self.path), delivery))

    def sweep(self, sweep: Sweep) -> None:
        if self.partition_by:
            sweep_partitions(self.path, sweep)
        else:
            sweep_staged(self.path, sweep)
        if (compaction := self._compaction) is not None:
            compaction.sweep(sweep)

    @property
    def _compaction(self) -> Compaction | None:
        if self.compact_files is None:
            return None
        return Compaction(self.path, self.compact_files, self.compression, partitioned=bool(self.partition_by))
