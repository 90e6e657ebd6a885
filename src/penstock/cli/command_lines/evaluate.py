"""The command line of `penstock evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options.application_argument import ApplicationArgument


def evaluate(
    application: ApplicationArgument,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", "-i", metavar="NAME=FILE", help="Tuples of a source: .parquet, .csv (with a header), .arrow."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where to write one file per sink.")
    ] = None,
    taps: Annotated[
        list[str] | None,
        typer.Option("--tap", metavar="STREAM[=DIR]", help="Also return a stream that no sink writes."),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory of the sources' own files. Default: the current one.")
    ] = None,
    format_: Annotated[str, typer.Option("--format", metavar="parquet|csv", help="How to write files.")] = "parquet",
    block_rows: Annotated[int, typer.Option(metavar="N", help="Tuples per block.")] = 8192,
    on_error: Annotated[
        str, typer.Option(metavar="dead_letter|fail", help="What to do with a tuple that cannot be used.")
    ] = "dead_letter",
    rows: Annotated[int, typer.Option(metavar="N", help="How many rows of each result to show.")] = 5,
    engine: Annotated[
        str, typer.Option(metavar="inprocess|spark", help="Where to run it; the results are the same.")
    ] = "inprocess",
    master: Annotated[str, typer.Option(metavar="URL", help="Where Spark runs, with --engine spark.")] = "local[*]",
    threads: Annotated[
        str,
        typer.Option(
            metavar="N|elastic|multilevel",
            help="How many threads work at once: a number, or a policy that finds it, as in elastic or elastic:2-16.",
        ),
    ] = "1",
    queues: Annotated[
        list[str] | None,
        typer.Option(
            "--queue",
            metavar="OPERATOR",
            help="Put a queue in front of this operator. Default: those that read a source.",
        ),
    ] = None,
    schedule: Annotated[
        str,
        typer.Option(
            metavar="oldest_first|round_robin|nearest_to_sink", help="Which queued block a thread takes next."
        ),
    ] = "oldest_first",
) -> None:
    """Run an application over finite input, show the results and write them to files.

    Examples:

    - `penstock evaluate examples/momentum.py --input trades=out/data/trades.parquet --output out/momentum`

    - `penstock evaluate examples/spade/join-cf1.1.spade --data-dir out/data --tap Join1 --format csv --output out/join`

    - `penstock evaluate penstock.cli.demo.vwap:vwap_per_ticker --input quotes=out/data/trades.parquet --threads 2`
    """
    from penstock.cli.evaluate import EvaluateRequest, evaluate_command

    evaluate_command(
        EvaluateRequest(
            application, tuple(inputs or ()), output, tuple(taps or ()), data_dir, format_, block_rows, on_error, rows,
            engine, master, threads, tuple(queues or ()), schedule,
        )
    )  # fmt: skip
