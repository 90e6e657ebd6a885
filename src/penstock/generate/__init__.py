"""Data to try things with: tables by (rows, seed), and the files that MODEL's programs read."""

from penstock.generate.auction import bids, offers
from penstock.generate.files import DATA_FILES, DataFile, write_all, write_csv
from penstock.generate.stock_reports import dates_and_times, stock_reports
from penstock.generate.trades import KEYS, trades
from penstock.generate.trades_and_quotes import trades_and_quotes

__all__ = [
    "trades",
    "KEYS",
    "dates_and_times",
    "stock_reports",
    "bids",
    "offers",
    "trades_and_quotes",
    "DATA_FILES",
    "DataFile",
    "write_all",
    "write_csv",
]
