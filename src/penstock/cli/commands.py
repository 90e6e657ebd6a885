"""The commands and their options; what each does is in a file of its own, imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options.control_flags import (
    POLICIES_HELP,
    GoalFlag,
    LimitFlag,
    PassiveFlag,
    PolicyFlag,
    PriceFlag,
    WillingnessFlag,
)
from penstock.cli.options.setting_forms import SETTING_FORMS

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
    help="Penstock: a self-tuning stream-processing system for Python people.",
)

_APPLICATION_HELP = "FILE.py[:NAME], MODULE:NAME, FILE.spade or FILE.json"
ApplicationArgument = Annotated[str, typer.Argument(metavar="APP", help=_APPLICATION_HELP, show_default=False)]


@app.callback(invoke_without_command=True)
def _penstock(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        import penstock

        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.command()
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
        typer.Option("--tap", metavar="STREAM[=DIR]", help="Also keep a stream that no sink keeps."),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the sources' own files are; else the current directory.")
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
            "--queue", metavar="OPERATOR", help="An operator with a queue in front; else those that read a source."
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


@app.command(epilog=POLICIES_HELP)
def run(
    application: ApplicationArgument,
    master: Annotated[
        str, typer.Option(metavar="URL", help="Where Spark runs: local[N], spark://host:port, ...")
    ] = "local[*]",
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to keep what is needed to go on after a stop or a crash.")
    ] = None,
    duration: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop after so long, from when Spark is up.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help=SETTING_FORMS),
    ] = None,
    dead_letters: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write tuples that cannot be used, with the reason.")
    ] = None,
    on_error: Annotated[
        str, typer.Option(metavar="dead_letter|fail", help="What to do with a tuple that cannot be used.")
    ] = "dead_letter",
    reset_state: Annotated[
        list[str] | None,
        typer.Option(metavar="OPERATOR", help="Start this operator empty and keep the state of the rest; repeatable."),
    ] = None,
    durable: Annotated[
        bool, typer.Option("--durable", help="Sync the checkpoint to disk, so that it survives a power failure.")
    ] = False,
    goal: GoalFlag = None,
    policy: PolicyFlag = None,
    price: PriceFlag = None,
    willingness: WillingnessFlag = None,
    limit: LimitFlag = None,
    passive: PassiveFlag = False,
) -> None:
    """Run an application on Spark, with a live view; Ctrl-C ends it cleanly.

    Examples:

    - `penstock run examples/streaming/vwap.py --duration 30`

    - `penstock run examples/streaming/vwap.py --checkpoint out/checkpoint --set window.replicas=4`

    - `penstock run examples/streaming/vwap.py --goal "latency p95_ms=500" --limit max_replicas=8`

    - `penstock run examples/streaming/vwap.py --goal throughput --price core_hour=0.05 --willingness calm`

    - `penstock run examples/streaming/vwap.py --goal throughput --policy ds2 --passive`
    """
    from penstock.cli.options.control_options import ControlOptions
    from penstock.cli.run import RunRequest, run_command

    control = ControlOptions(goal, policy, tuple(price or ()), tuple(limit or ()), passive, willingness)
    run_command(
        RunRequest(
            application, master, checkpoint, duration, tuple(settings or ()), dead_letters, on_error, control,
            tuple(reset_state or ()), durable,
        )
    )  # fmt: skip


@app.command()
def explain(
    application: ApplicationArgument,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.svg|png", help="Also draw the graph with its elements into a file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Say what an application is made of: operators, state, order, parallelism, elements.

    Examples:

    - `penstock explain examples/spade/vwap-cf3.spade`

    - `penstock explain penstock.cli.demo.vwap:vwap_per_ticker --picture out/vwap.svg`

    - `penstock explain examples/momentum.py --json`
    """
    from penstock.cli.explain import explain_command

    explain_command(application, picture, as_json=json)


@app.command()
def journal(
    path: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A journal, or the checkpoint that has one.", show_default=False),
    ],
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE.svg|png", help="Also draw throughput, latency and replicas over time."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Show what was measured while an application ran: elements, operators, latency, time and CPU.

    Examples:

    - `penstock journal out/checkpoint`

    - `penstock journal out/checkpoint/journal.jsonl --json --picture out/run.svg`
    """
    from penstock.cli.journal.command import journal_command

    journal_command(path, picture, as_json=json)


@app.command(epilog=POLICIES_HELP)
def replay(
    path: Annotated[
        Path,
        typer.Argument(metavar="JOURNAL", help="A journal, or the checkpoint that has one.", show_default=False),
    ],
    goal: GoalFlag = None,
    policy: PolicyFlag = None,
    price: PriceFlag = None,
    willingness: WillingnessFlag = None,
    limit: LimitFlag = None,
    p95_ms: Annotated[
        float | None, typer.Option(metavar="MS", help="Short for --goal 'latency p95_ms=MS'; else as in the run.")
    ] = None,
    max_replicas: Annotated[
        int | None, typer.Option(metavar="N", help="Short for --limit max_replicas=N; else as in the run.")
    ] = None,
    speed_up: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="How many times as fast the trace was replayed: rivals follow; else as the journal says."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Show what another policy would have decided in a recorded run.

    Goal, limits and the speed-up of a trace are those of the run where none are given.

    Examples:

    - `penstock replay out/checkpoint --policy mpc --max-replicas 8`

    - `penstock replay out/checkpoint --goal "latency mean_ms=300" --policy th-node:horizon=3,switching=no`

    - `penstock replay out/checkpoint/journal.jsonl --policy flink-autoscaler --speed-up 100 --json`
    """
    from penstock.cli.options.control_options import ControlOptions
    from penstock.cli.replay import ReplayRequest, replay_command, short_options

    control = ControlOptions(goal, policy, tuple(price or ()), tuple(limit or ()), False, willingness)
    replay_command(ReplayRequest(path, short_options(control, p95_ms, max_replicas), speed_up, json))


@app.command()
def candlesticks(
    path: Annotated[
        Path,
        typer.Argument(metavar="ESTIMATES", help="A Parquet file, or a directory of them.", show_default=False),
    ],
    symbol: Annotated[
        list[str] | None, typer.Option(metavar="S", help="A symbol to draw; may be repeated; else the busiest four.")
    ] = None,
    candles: Annotated[int, typer.Option(metavar="N", help="How many candles at most.")] = 60,
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


@app.command()
def generate(
    name: Annotated[
        str, typer.Argument(metavar="NAME|all", help="Which data; see the list below.", show_default=False)
    ],
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


@app.command()
def demo(
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="How long the stream is; else 60, or 20 with --quick.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write.")] = Path("out/demo"),
    master: Annotated[str, typer.Option(metavar="URL", help="Where Spark runs: local[N], spark://host:port, ...")] = (
        "local[*]"
    ),
    rate: Annotated[
        float | None, typer.Option(metavar="N", help="Tuples a second, the day's mean; else what suits the machine.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="20 seconds of stream after a shorter warm-up.")] = False,
) -> None:
    """Stream a trading day through local Spark, change replicas and routes while it runs, and draw what happened.

    Examples:

    - `penstock demo`

    - `penstock demo --quick`

    - `penstock demo --seconds 20 --rate 200000 --output out/small`
    """
    from penstock.cli.demo.command import DemoRequest, demo_command
    from penstock.cli.demo.warm_up import QUICK, WarmUp

    length_s = seconds if seconds is not None else 20.0 if quick else 60.0
    demo_command(DemoRequest(length_s, output, master, rate, QUICK if quick else WarmUp()))


@app.command(
    hidden=True,  # for those who knew it
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def bench(context: typer.Context) -> None:
    """Says where the benchmarks went."""
    from penstock.errors import InputError

    raise InputError(
        "the benchmarks are not part of the installed package; run them in a clone of "
        "https://github.com/penstock-streams/penstock with: python -m benchmarks"
    )
