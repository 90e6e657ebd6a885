"""`penstock candlesticks`: estimates of the trading application as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.cli.screen import console
from penstock.connectors.files.whole_files import validated
from penstock.errors import InputError
from penstock.measure.html_table import amount
from penstock.watch.pictures.canvas import check_picture

_SYMBOLS_DRAWN = 4


def candlesticks_command(path: Path, symbols: Sequence[str], candles: int, picture: Path) -> None:
    """Draws some symbols' estimates from a Parquet file or a directory of them, a Parquet sink's for example."""
    from penstock.watch.pictures.candlesticks import busiest, candles_of, draw_candlesticks

    check_picture(picture)
    if candles < 1:
        raise InputError(f"--candles is a whole number of at least 1; got {candles}")
    estimates = _read(path)
    if "symbol" not in estimates.column_names or not estimates.num_rows:
        raise InputError(f"{path} has no estimates; run the trading application with a Parquet sink first")
    chosen = [candles_of(estimates, symbol, candles) for symbol in symbols or busiest(estimates, _SYMBOLS_DRAWN)]
    draw_candlesticks(chosen, amount(estimates.num_rows, "estimate"), picture)
    console().print(f"wrote {picture}", markup=False, soft_wrap=True)


def _read(path: Path) -> pa.Table:
    if not path.exists():
        raise InputError(f"there is no file or folder {path}")
    try:
        files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise InputError(f"there are no Parquet files in {path}")
        return pa.concat_tables([validated(pq.read_table(file)) for file in files], promote_options="permissive")
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from error
