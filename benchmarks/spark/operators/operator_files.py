"""Directories of Parquet files with event times: trades of two venues, and trades of which every second is late."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from penstock import sources

SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("ticker", pa.string()), ("ttype", pa.string()),
                    ("price", pa.float64()), ("volume", pa.float64())])  # fmt: skip
FRAME_SQL = "at timestamp, ticker string, ttype string, price double, volume double"
BEGIN_US = 1_767_225_600_000_000  # 2026-01-01, UTC
STEP_US = 10  # between two tuples of a venue: 100,000 in a second of event time
LATE_US = 3_600_000_000
VENUES = ("north", "south")
LATE = "late"
CLOSING, CLOSING_ROWS = "end of ", 2


@dataclass(frozen=True, slots=True)
class OperatorFiles:
    """Files of each venue, written once; a case reads links to the first of them."""

    folder: Path
    rows: int

    def links(self, venue: str, files: int, folder: Path) -> Path:
        """A directory of the venue's first files, and one of rows far ahead that let all windows before them end."""
        folder.mkdir(parents=True)
        for number in range(files):
            os.link(self.folder / venue / _name(number), folder / _name(number))
        pyarrow.parquet.write_table(closing_rows(venue, files * self.rows), folder / _name(files))
        return folder

    def table(self, venue: str, number: int) -> pa.Table:
        return pyarrow.parquet.read_table(self.folder / venue / _name(number), use_threads=False)


def write_operator_files(folder: Path, rows: int, files: dict[str, int], keys: int) -> OperatorFiles:
    """So many files of each venue."""
    for venue, count in files.items():
        (folder / venue).mkdir(parents=True)
        for number in range(count):
            pyarrow.parquet.write_table(venue_table(venue, number, rows, keys), folder / venue / _name(number))
    return OperatorFiles(folder, rows)


def venue_table(venue: str, number: int, rows: int, keys: int) -> pa.Table:
    """The rows of one file; no two rows of both venues have the same event time."""
    first, seed = number * rows, 7 + VENUES.index(venue) if venue in VENUES else 7
    trace = sources.trace("unbounded", keys=keys, ticker="string", seed=seed).table(first, first + rows)
    at_us = BEGIN_US + np.arange(first, first + rows) * STEP_US + (STEP_US // 2 if venue == VENUES[1] else 0)
    if venue == LATE:
        at_us[1::2] -= LATE_US
    columns = [pa.array(at_us).cast(SCHEMA.field("at").type), *(trace.column(name) for name in SCHEMA.names[1:])]
    return pa.table(columns, schema=SCHEMA)


def closing_rows(venue: str, rows: int) -> pa.Table:
    """Trades one and two hours behind the last, of a ticker that nobody else has.

    The first lets all windows before it end; a merge of several venues holds the second, as others might come before.
    """
    first_us = BEGIN_US + rows * STEP_US + LATE_US + (STEP_US // 2 if venue == VENUES[1] else 0)
    values = [[first_us, first_us + LATE_US], [f"{CLOSING}{venue}"] * 2, ["Trade"] * 2, [1.0] * 2, [1.0] * 2]
    arrays = [pa.array(own).cast(field.type) for own, field in zip(values, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def _name(number: int) -> str:
    return f"{number:06d}.parquet"
