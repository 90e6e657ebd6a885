"""Parquet files of a sink: written under a name of their own, and renamed when their batch counts."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from penstock.app.connectors import ParquetSink
from penstock.app.operators import Operator, Sink
from penstock.element.block import Block
from penstock.element.state.whole_file import sync
from penstock.spark.checkpoint import BatchPlan

_STAGE = ".penstock"


class StagedFile:
    """One replica's tuples of one batch; a task that runs again writes another file."""

    def __init__(self, folder: str, schema: pa.Schema, plan: BatchPlan, replica: int, attempt: int) -> None:
        self._name = f"batch-{plan.batch:012d}-replica-{replica:04d}@{plan.epoch}-{attempt}"
        self._stage = Path(folder) / _STAGE
        self._stage.mkdir(parents=True, exist_ok=True)
        self._writer = pyarrow.parquet.ParquetWriter(self._stage / self._name, schema, compression="lz4")

    def write(self, block: Block) -> None:
        self._writer.write_batch(block.to_arrow())

    def close(self, *, durable: bool = False) -> str:
        """Ends the file and gives its name."""
        self._writer.close()
        if durable:
            sync(str(self._stage / self._name))
        return self._name


def publish_file(sink: Operator, staged: str, *, durable: bool = False) -> None:
    """Gives a staged file its final name; a batch that runs again replaces what it wrote before."""
    assert isinstance(sink, Sink)
    assert isinstance(sink.connector, ParquetSink)
    folder = Path(sink.connector.path)
    os.replace(folder / _STAGE / staged, folder / f"{staged.partition('@')[0]}.parquet")
    if durable:
        sync(str(folder))


def sweep_staged(sink: ParquetSink, epoch: int) -> None:
    """Deletes what drivers before this one staged and never published."""
    for path in (Path(sink.path) / _STAGE).glob("batch-*@*"):
        if int(path.name.rpartition("@")[2].partition("-")[0]) < epoch:
            path.unlink(missing_ok=True)
