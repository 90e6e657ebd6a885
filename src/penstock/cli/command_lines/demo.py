"""The command lines of `penstock demo`, `init`, `generate` and `candlesticks`: to try things with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Length of the stream. Default: 60, or 20 with --quick.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write.")] = Path("out/demo"),
    master: Annotated[str, typer.Option(metavar="URL", help="Where Spark runs: local[N], spark://host:port, ...")] = (
        "local[*]"
    ),
    rate: Annotated[float | None, typer.Option(metavar="N", help="Mean quotes a second. Default: 6,000.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="20 seconds of stream.")] = False,
) -> None:
    """Stream a day of load through local Spark under a latency goal, let it tune itself, and draw what happened.

    Examples:

    - `penstock demo`

    - `penstock demo --quick`

    - `penstock demo --seconds 20 --rate 2000 --output out/small`
    """
    from penstock.cli.demo.command import DemoRequest, demo_command

    length_s = seconds if seconds is not None else 20.0 if quick else 60.0
    demo_command(DemoRequest(length_s, output, master, rate))


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or an empty one.")],
) -> None:
    """Write a small project that runs: an application, its test, a README.

    Example:

    - `penstock init prices`
    """
    from penstock.cli.project import init_command

    init_command(directory)


def generate(
    name: Annotated[str, typer.Argument(metavar="NAME|all", help="One of the names above.", show_default=False)],
    rows: Annotated[int, typer.Option(metavar="N", help="Rows of each file.")] = 100_000,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed gives the same bytes.")] = 7,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write.")] = Path("out/data"),
) -> None:
    """Write data to try things with.

    Names: `trades` (trades.parquet: half trades, half quotes of 2,836 tickers), and the files that the programs of
    examples/spade read: `SourceData.dat`, `stock_report.dat`, `auction_bid.dat`, `product_match.dat`,
    `TradesAndQuotes.csv.long`.

    Examples:

    - `penstock generate all --rows 100000`

    - `penstock generate trades --rows 5000000 --seed 1 --output out/data`
    """
    from penstock.cli.generate.command import generate_command

    generate_command(name, rows, seed, output)


def candlesticks(
    path: Annotated[
        Path,
        typer.Argument(metavar="ESTIMATES", help="A Parquet file, or a directory of them.", show_default=False),
    ],
    symbol: Annotated[
        list[str] | None, typer.Option(metavar="S", help="A symbol to draw; repeatable. Default: the busiest four.")
    ] = None,
    candles: Annotated[int, typer.Option(metavar="N", help="The most candles to draw.")] = 60,
    picture: Annotated[Path, typer.Option(metavar="FILE.svg|png", help="Where to draw.")] = Path(
        "out/candlesticks.svg"
    ),
) -> None:
    """Draw what the trading application estimated: prices as candlesticks, forecasts as a line.

    Examples:

    - `penstock run examples/streaming/trading.py --duration 60`

    - `penstock candlesticks out/estimates --picture out/candlesticks.png`
    """
    from penstock.cli.candlesticks import candlesticks_command

    candlesticks_command(path, symbol or (), candles, picture)
