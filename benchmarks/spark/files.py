"""Results that a Parquet sink wrote, counted and summed up."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.block.block import block_of
from penstock.state.slots.row_checksum import add_checksums, checksum_of


def parquet_totals(folder: Path, schema: pa.Schema, last_batch: int) -> tuple[int, int]:
    """Rows and checksum over the files of a sink's directory, up to a batch: a stop may come just after publishing."""
    count = checksum = 0
    for path in sorted(folder.glob("*.parquet")):
        number = re.search(r"batch-(\d+)", path.name)
        if number is not None and int(number[1]) > last_batch:
            continue
        for batch in pq.ParquetFile(path).iter_batches(batch_size=1 << 17):
            count, checksum = count + batch.num_rows, add_checksums(checksum, checksum_of(block_of(batch, schema)))
    return count, checksum


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below a folder, as much as they take on the disk or in memory."""
    found = 0
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                found += path.stat().st_blocks * 512
        except FileNotFoundError:  # files come and go
            continue
    return found
