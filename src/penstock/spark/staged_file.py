"""Parquet files of a sink: written under a name of their own, and renamed when their batch counts."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from penstock.app.connectors import ParquetSink
from penstock.app.operators import Operator, Sink
from penstock.element.block import Block
from penstock.spark.checkpoint import BatchPlan

_STAGE = ".penstock"


class StagedFile:
    """One replica's tuples of one batch; a task that runs again writes another file."""

    def __init__(self, folder: str, schema: pa.Schema, plan: BatchPlan, replica: int, attempt: int) -> None:
        self._name = f"batch-{plan.batch:012d}-replica-{replica:04d}@{plan.epoch}-{attempt}"
        stage = Path(folder) / _STAGE
        stage.mkdir(parents=True, exist_ok=True)
        self._writer = pyarrow.parquet.ParquetWriter(stage / self._name, schema, compression="lz4")

    def write(self, block: Block) -> None:
        self._writer.write_batch(block.to_arrow())

    def close(self) -> str:
        """Ends the file and gives its name."""
        self._writer.close()
        return self._name


def publish_file(sink: Operator, staged: str) -> None:
    """Gives a staged file its final name; a batch that runs again replaces what it wrote before."""
    assert isinstance(sink, Sink)
    assert isinstance(sink.connector, ParquetSink)
    folder = Path(sink.connector.path)
    os.replace(folder / _STAGE / staged, folder / f"{staged.partition('@')[0]}.parquet")
