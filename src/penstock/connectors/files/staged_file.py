"""Parquet files of a sink: written under a name of their own, and renamed when their batch counts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from penstock.block.block import Block
from penstock.connectors.files.writers import ROW_GROUP_ROWS
from penstock.connectors.parquet import ParquetSink
from penstock.errors import InputError
from penstock.host.atomic_file import sync

_STAGE = ".penstock"
_OWNER = "_penstock"  # names with this beginning are no data for Spark and Arrow


class StagedFile:
    """One replica's tuples of one batch, in row groups; a task that runs again writes another file."""

    def __init__(
        self, sink: ParquetSink, schema: pa.Schema, *, batch: int, epoch: int, replica: int, attempt: int
    ) -> None:
        self._name = f"batch-{batch:012d}-replica-{replica:04d}@{epoch}-{attempt}"
        self._stage = Path(sink.path) / _STAGE
        self._stage.mkdir(parents=True, exist_ok=True)
        self._writer = pyarrow.parquet.ParquetWriter(self._stage / self._name, schema, compression=sink.compression)
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, block: Block) -> None:
        self._waiting.append(block.to_arrow())
        self._rows += block.rows
        if self._rows >= ROW_GROUP_ROWS:
            self._write_group()

    def close(self, *, durable: bool = False) -> str:
        """Ends the file and gives its name."""
        if self._rows:
            self._write_group()
        self._writer.close()
        if durable:
            sync(str(self._stage / self._name))
        return self._name

    def _write_group(self) -> None:
        self._writer.write_table(pa.Table.from_batches(self._waiting), row_group_size=self._rows)
        self._waiting, self._rows = [], 0


def publish_files(sink: ParquetSink, batch: int, staged: Iterable[str], *, durable: bool = False) -> None:
    """Gives a batch's staged files their final names; a batch that runs again replaces all that it wrote before."""
    folder = Path(sink.path)
    names = {f"{name.partition('@')[0]}.parquet": name for name in staged}
    for earlier in folder.glob(f"batch-{batch:012d}-replica-*.parquet"):
        if earlier.name not in names:
            earlier.unlink(missing_ok=True)
    for final, name in names.items():
        os.replace(folder / _STAGE / name, folder / final)
    if durable and names:
        sync(str(folder))


def claim(sink: ParquetSink, checkpoint_id: str) -> None:
    """Takes a folder for a checkpoint; files of two runs in one folder would count twice."""
    owner = Path(sink.path) / _OWNER
    owner.parent.mkdir(parents=True, exist_ok=True)
    if not owner.is_file() and not any(owner.parent.glob("batch-*.parquet")):
        owner.write_text(checkpoint_id)
    elif not owner.is_file() or owner.read_text() != checkpoint_id:
        raise InputError(f"the folder '{sink.path}' has the files of another run; empty it, take another folder, or go "
                         "on with that run's checkpoint")  # fmt: skip


def sweep_before(sink: ParquetSink, batch: int) -> None:
    """Deletes what tasks that were lost, or ran twice, staged for batches before this one."""
    for path in (Path(sink.path) / _STAGE).glob("batch-*@*"):
        if int(path.name.split("-")[1]) < batch:
            path.unlink(missing_ok=True)


def sweep_staged(sink: ParquetSink, epoch: int) -> None:
    """Deletes what drivers before this one staged and never published."""
    for path in (Path(sink.path) / _STAGE).glob("batch-*@*"):
        if int(path.name.rpartition("@")[2].partition("-")[0]) < epoch:
            path.unlink(missing_ok=True)
