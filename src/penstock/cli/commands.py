"""The commands and their options; what each does is in a file of its own, imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options.control_flags import (
    POLICIES_HELP,
    GoalFlag,
    LimitFlag,
    OldPaybackFlag,
    PassiveFlag,
    PaybackFlag,
    PolicyFlag,
    PriceFlag,
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


def _payback(payback: str | None, willingness: str | None) -> str | None:
    """What `--payback` says, or its old name, which warns."""
    if willingness is not None:
        typer.echo("penstock: --willingness is now --payback; the old name goes in 0.2", err=True)
    return payback or willingness


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
    state_directory: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="PENSTOCK_STATE_DIRECTORY",
            show_default=False,
            help="Where hosts keep state by key and shuffle files, instead of /dev/shm.",
        ),
    ] = None,
    at_end: Annotated[
        str, typer.Option(metavar="hold|fire", help="What windows do with what they hold when all sources have ended.")
    ] = "hold",
    goal: GoalFlag = None,
    policy: PolicyFlag = None,
    price: PriceFlag = None,
    payback: PaybackFlag = None,
    willingness: OldPaybackFlag = None,
    limit: LimitFlag = None,
    passive: PassiveFlag = False,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Serve a page that shows the run, and print its link.")
    ] = False,
    journal_mb: Annotated[int, typer.Option(metavar="N", help="Disk that the journal may take, in MB.")] = 512,
    dead_letter_samples: Annotated[
        bool, typer.Option(help="Keep a few dead letters of each operator and reason in the journal.")
    ] = True,
    metrics: Annotated[
        str | None, typer.Option(metavar="[HOST:]PORT", help="Serve Prometheus metrics of the run there.")
    ] = None,
) -> None:
    """Run an application on Spark, with a live view; Ctrl-C ends it cleanly.

    Examples:

    - `penstock run examples/streaming/vwap.py --duration 30`

    - `penstock run examples/streaming/vwap.py --checkpoint out/checkpoint --set window.replicas=4`

    - `penstock run examples/streaming/vwap.py --goal "latency p95_ms=500" --limit max_replicas=8`

    - `penstock run examples/streaming/vwap.py --goal throughput --price core_hour=0.05 --payback calm`

    - `penstock run examples/streaming/vwap.py --goal throughput --policy ds2 --passive`
    """
    from penstock.cli.options.control_options import ControlOptions
    from penstock.cli.run import RunRequest, run_command

    control = ControlOptions(
        goal, policy, tuple(price or ()), tuple(limit or ()), passive, _payback(payback, willingness)
    )
    run_command(
        RunRequest(
            application, master, checkpoint, duration, tuple(settings or ()), dead_letters, on_error, control,
            tuple(reset_state or ()), durable, state_directory, at_end, dashboard, journal_mb, dead_letter_samples,
            metrics,
        )
    )  # fmt: skip


@app.command()
def explain(
    application: ApplicationArgument,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.svg|png", help="Also draw the graph with its elements into a file.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="TUPLES_S", help="Also predict CPU, highest rate and hosts at this rate.")
    ] = None,
    nodes: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="The machines that --rate is predicted for.")
    ] = None,
    fuse: Annotated[
        bool,
        typer.Option("--fuse", help="With --rate: the chosen fusion compared with none, all and the requested one."),
    ] = False,
    profile: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="What operators cost; else what the store knows.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Say what an application is made of: operators, state, order, parallelism, elements.

    Examples:

    - `penstock explain examples/spade/vwap-cf3.spade`

    - `penstock explain penstock.cli.demo.vwap:vwap_per_ticker --picture out/vwap.svg`

    - `penstock explain examples/momentum.py --json`

    - `penstock explain penstock.cli.demo.vwap:vwap_per_ticker --rate 50000 --fuse`
    """
    from penstock.cli.explain import CostQuestion, explain_command

    explain_command(application, picture, CostQuestion(rate, nodes, profile, fuse), as_json=json)


@app.command()
def profile(
    application: ApplicationArgument,
    show: Annotated[bool, typer.Option("--show", help="Print what the store has, and run nothing.")] = False,
    rates: Annotated[
        str | None,
        typer.Option(metavar="N,N,N", help="Source tuples/s to run at; else shares of the highest rate."),
    ] = None,
    seconds: Annotated[float, typer.Option(metavar="S", help="How long to run at each rate, at most.")] = 10.0,
    master: Annotated[str, typer.Option(metavar="URL", help="A local master.")] = "local[2]",
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="NAME=FILE", help="Tuples of a source, which are repeated."),
    ] = None,
    from_journal: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Learn from a recorded run: a journal, or the checkpoint that has one."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.json", help="Also write the profile to a file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the profile as one JSON object.")] = False,
) -> None:
    """Learn what the operators of an application cost, by running it at several rates, and store it.

    Examples:

    - `penstock profile examples/streaming/vwap.py`

    - `penstock profile examples/momentum.py --input trades=out/data/trades.parquet --rates 5000,10000,20000`

    - `penstock profile examples/streaming/vwap.py --from-journal out/checkpoint`

    - `penstock profile examples/streaming/vwap.py --show --json`
    """
    from penstock.cli.profile import ProfileRequest, profile_command

    profile_command(
        ProfileRequest(
            application, rates, master, seconds, tuple(inputs or ()), output, from_journal, show, json
        )
    )  # fmt: skip


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
    export: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write it as Parquet files, with the unit of each column.")
    ] = None,
) -> None:
    """Show what was measured while an application ran: elements, operators, latency, time and CPU.

    Examples:

    - `penstock journal out/checkpoint`

    - `penstock journal out/checkpoint/journal.jsonl --json --picture out/run.svg`

    - `penstock journal out/checkpoint --export out/parquet`
    """
    from penstock.cli.journal.command import journal_command

    if export is not None:
        from penstock.cli.journal.export import export_command

        export_command(path, export)
        return
    journal_command(path, picture, as_json=json)


CheckpointArgument = Annotated[
    Path, typer.Argument(metavar="CHECKPOINT", help="The checkpoint of a run, or its journal.", show_default=False)
]


@app.command()
def watch(
    checkpoint: CheckpointArgument,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0: any that is free.")] = 0,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the token of the controls, instead of stderr.")
    ] = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Show it in this terminal instead of a page.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON line for each look instead of a page.")] = False,
    metrics: Annotated[
        str | None, typer.Option(metavar="[HOST:]PORT", help="Also serve Prometheus metrics there.")
    ] = None,
    with_pid: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Serve a page that shows a run, while it runs or afterwards.

    Examples:

    - `penstock watch out/checkpoint`

    - `penstock watch out/checkpoint --port 8080 --token-file out/token`

    - `penstock watch out/checkpoint --terminal`

    - `penstock watch out/checkpoint --metrics 9100`
    """
    from penstock.cli.watch.command import WatchRequest, watch_command

    watch_command(WatchRequest(checkpoint, host, port, token_file, terminal, json, metrics, with_pid))


@app.command()
def report(
    checkpoint: CheckpointArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE.html")] = Path("report.html"),
) -> None:
    """Write one page of HTML that shows a run, and needs nothing else.

    Examples:

    - `penstock report out/checkpoint --output out/report.html`
    """
    from penstock.cli.watch.report import report_command

    report_command(checkpoint, output)


@app.command()
def compare(
    one: Annotated[Path, typer.Argument(metavar="A", help="The checkpoint of a run.", show_default=False)],
    other: Annotated[Path, typer.Argument(metavar="B", help="That of another run.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Set two runs side by side: what arrived, how late results were, what it took.

    Examples:

    - `penstock compare out/mpc out/ds2`
    """
    from penstock.cli.watch.compare import compare_command

    compare_command(one, other, as_json=json)


_ModelArgument = Annotated[
    str, typer.Argument(metavar="APP|model.json", help="A model (docs/twin.md), or an application.", show_default=False)
]
_NodesOption = Annotated[
    Path | None, typer.Option("--nodes", metavar="FILE.toml", help="The machines; else one core of speed 1.")
]
_FromJournalOption = Annotated[
    Path | None,
    typer.Option("--from-journal", metavar="RUN", help="Learn an application's costs from a checkpoint or journal."),
]
_FromProfileOption = Annotated[
    Path | None, typer.Option("--from-profile", metavar="FILE.json", help="Take its costs from a profile.")
]
_SimulationSeedOption = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same result.")]


@app.command()
def simulate(
    model: _ModelArgument,
    nodes: _NodesOption = None,
    schedule: Annotated[
        str,
        typer.Option(
            metavar="oldest_first|fifo|nearest_to_sink|JSON", help='Who works on what, as in {"pinned": {"n1": ["a"]}}.'
        ),
    ] = "oldest_first",
    seconds: Annotated[float, typer.Option(metavar="S", help="Simulated time.")] = 600.0,
    warm_up: Annotated[
        float | None,
        typer.Option(metavar="S", help="Simulated time before anything counts; else a tenth of --seconds."),
    ] = None,
    seed: _SimulationSeedOption = 1,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="continuous|micro_batch",
            help="How blocks are worked on; a model's default is continuous, an application's micro_batch.",
        ),
    ] = None,
    from_journal: _FromJournalOption = None,
    from_profile: _FromProfileOption = None,
    rate: Annotated[
        float | None, typer.Option(metavar="TUPLES/S", help="Of an application's sources together; else as it was.")
    ] = None,
    what_if: Annotated[
        str | None,
        typer.Option(metavar="'rate x F'", help="Cores, executors, latency and bill at another rate, by nodes."),
    ] = None,
    price: Annotated[list[str] | None, typer.Option(metavar="NAME=X", help="core_hour=X: for --what-if.")] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.svg|png", help="Also draw what --what-if found.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Simulate a graph of operators on machines: throughput, latency, queues, how busy nodes are.

    Examples:

    - `penstock simulate model.json --nodes nodes.toml --seconds 600`

    - `penstock simulate model.json --nodes nodes.toml --schedule nearest_to_sink --json`

    - `penstock simulate app.py --from-journal out/checkpoint --nodes nodes.toml --rate 50000`

    - `penstock simulate app.py --from-journal out/checkpoint --nodes nodes.toml --what-if "rate x 10" --price
    core_hour=0.05`
    """
    from penstock.cli.simulate.command import simulate_command
    from penstock.cli.simulate.subject import Costs
    from penstock.cli.simulate.what_if import what_if_command

    costs = Costs(from_journal, from_profile, rate)
    if what_if is not None:
        what_if_command(model, nodes, what_if, price or [], picture, seed, costs, as_json=json)
    else:
        simulate_command(model, nodes, schedule, seconds, warm_up, seed, costs, mode=mode, as_json=json)


@app.command()
def search(
    model: _ModelArgument,
    nodes: _NodesOption = None,
    goal: Annotated[str, typer.Option(metavar="latency_mean|latency_p95", help="What is to be low.")] = "latency_mean",
    simulations: Annotated[int, typer.Option(metavar="N", help="How many candidates are simulated at most.")] = 1000,
    method: Annotated[str, typer.Option(metavar="genetic|random", help="How candidates are found.")] = "genetic",
    start: Annotated[
        list[str] | None,
        typer.Option(metavar="OPERATOR=PARTITIONS", help="Begin from these; may be repeated."),
    ] = None,
    seed: _SimulationSeedOption = 1,
    from_journal: _FromJournalOption = None,
    from_profile: _FromProfileOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Search for the number of partitions of each operator with the lowest latency.

    Examples:

    - `penstock search model.json --nodes nodes.toml --simulations 1000`

    - `penstock search model.json --nodes nodes.toml --start window=4 --goal latency_p95 --json`
    """
    from penstock.cli.simulate.command import search_command
    from penstock.cli.simulate.subject import Costs

    costs = Costs(from_journal, from_profile)
    search_command(model, nodes, goal, simulations, method, start or [], seed, costs, as_json=json)


@app.command(epilog=POLICIES_HELP)
def replay(
    path: Annotated[
        Path,
        typer.Argument(metavar="JOURNAL", help="A journal, or the checkpoint that has one.", show_default=False),
    ],
    goal: GoalFlag = None,
    policy: PolicyFlag = None,
    price: PriceFlag = None,
    payback: PaybackFlag = None,
    willingness: OldPaybackFlag = None,
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

    control = ControlOptions(
        goal, policy, tuple(price or ()), tuple(limit or ()), False, _payback(payback, willingness)
    )
    replay_command(ReplayRequest(path, short_options(control, p95_ms, max_replicas), speed_up, json))


checkpoint_app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="Copy a checkpoint.")
app.add_typer(checkpoint_app, name="checkpoint")


@checkpoint_app.callback()
def _checkpoint() -> None:
    """Copy a checkpoint."""


@checkpoint_app.command("copy")
def checkpoint_copy(
    source: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="What to copy.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="NEW", help="A new directory for the copy.", show_default=False)],
    sinks: Annotated[
        list[str] | None,
        typer.Option(
            "--sink", metavar="NAME=DIR", help="Where a sink of the copy writes its files; else to NEW-sinks/NAME."
        ),
    ] = None,
) -> None:
    """Copy a checkpoint, running or not, to go on from it beside the original.

    The copy goes on after the newest micro-batch that is done, with a run id and sink folders of its own.

    Examples:

    - `penstock checkpoint copy out/checkpoint out/staging`

    - `penstock checkpoint copy out/checkpoint out/staging --sink out=out/staging-results`
    """
    from penstock.cli.checkpoint import copy_command

    copy_command(source, target, tuple(sinks or ()))


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
def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or an empty one.")],
) -> None:
    """Write a small project that runs: an application, its test, a README.

    Example:

    - `penstock init prices`
    """
    from penstock.cli.project import init_command

    init_command(directory)


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
        float | None, typer.Option(metavar="N", help="Quotes a second, the day's mean; else 8,000.")
    ] = None,
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
