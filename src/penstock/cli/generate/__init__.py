"""`penstock generate`: tables by (rows, seed), and the files that MODEL's programs read.

May import every room; it needs `connectors` alone.  Begin with `command.py` and `files.py`.
"""

from penstock.cli.generate.auction import bids, offers
from penstock.cli.generate.files import DATA_FILES, DataFile, write_all, write_csv
from penstock.cli.generate.stock_reports import dates_and_times, stock_reports
from penstock.cli.generate.trades_and_quotes import trades_and_quotes
from penstock.connectors.trace.trades import KEYS, trades

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
