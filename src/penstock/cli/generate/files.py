"""The data files that MODEL's programs read: what they are called, what is in them, and writing them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from penstock.cli.generate.auction import bids, offers
from penstock.cli.generate.stock_reports import dates_and_times, stock_reports
from penstock.cli.generate.trades_and_quotes import trades_and_quotes


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file's name, what it holds, who reads it, its table for (rows, seed), and its rows per row asked for."""

    name: str
    description: str
    program: str
    table: Callable[[int, int], pa.Table]
    share: float = 1.0


# A.4 reads bids at twice the rate of offers: with half as many offers, both files last as long.
DATA_FILES = (
    DataFile("SourceData.dat", "dates and times of 2005, in order", "func3-cf4", dates_and_times),
    DataFile("stock_report.dat", "symbol, date and time, closing price, volume", "aggs-cf1, aggt-cf1", stock_reports),
    DataFile("auction_bid.dat", "bidder, product, price", "join-cf1.1", bids),
    DataFile("product_match.dat", "product, price of an offer", "join-cf1.1", offers, share=0.5),
    DataFile("TradesAndQuotes.csv.long", "trades and quotes of one day, 18 columns", "vwap-cf3", trades_and_quotes),
)


def write_csv(table: pa.Table, path: Path) -> None:
    """The table as lines without a header; a null is an empty field, nothing is quoted."""
    csv.write_csv(table, path, csv.WriteOptions(include_header=False, quoting_style="none"))


def write_all(directory: str | Path, rows: int, seed: int = 7) -> tuple[Path, ...]:
    """All five files in a directory (made where there is none); the same rows and seed give the same bytes."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    for file in DATA_FILES:
        write_csv(file.table(max(1, round(rows * file.share)), seed), folder / file.name)
    return tuple(folder / file.name for file in DATA_FILES)
