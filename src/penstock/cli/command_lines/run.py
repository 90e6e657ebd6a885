"""The command line of `penstock run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options.application_argument import ApplicationArgument
from penstock.cli.options.control_flags import (
    GoalFlag,
    LimitFlag,
    OldPaybackFlag,
    PassiveFlag,
    PaybackFlag,
    PolicyFlag,
    PriceFlag,
    chosen_payback,
)
from penstock.cli.options.setting_forms import SETTING_FORMS

_CHECKPOINT, _TUPLES, _WATCHING = "Checkpoint and state", "Tuples", "Journal, page and metrics"


def run(
    application: ApplicationArgument,
    master: Annotated[
        str, typer.Option(metavar="URL", help="Where Spark runs: local[N], spark://host:port, ...")
    ] = "local[*]",
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory from which a run goes on after a stop or a crash.",
            rich_help_panel=_CHECKPOINT,
        ),
    ] = None,
    duration: Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop this long after Spark is up.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help=SETTING_FORMS),
    ] = None,
    dead_letters: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write dead letters (tuples that cannot be used) here.", rich_help_panel=_TUPLES
        ),
    ] = None,
    on_error: Annotated[
        str,
        typer.Option(
            metavar="dead_letter|fail", help="What to do with a tuple that cannot be used.", rich_help_panel=_TUPLES
        ),
    ] = "dead_letter",
    reset_state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPERATOR",
            help="Drop this operator's state, keep that of the others; repeatable.",
            rich_help_panel=_CHECKPOINT,
        ),
    ] = None,
    durable: Annotated[
        bool,
        typer.Option(
            "--durable",
            help="Sync the checkpoint to disk, so that it survives a power failure.",
            rich_help_panel=_CHECKPOINT,
        ),
    ] = False,
    state_directory: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="PENSTOCK_STATE_DIRECTORY",
            show_default=False,
            help="Directory for keyed state and shuffle files on each host, instead of /dev/shm.",
            rich_help_panel=_CHECKPOINT,
        ),
    ] = None,
    at_end: Annotated[
        str,
        typer.Option(
            metavar="hold|fire", help="Whether open windows fire when all sources have ended.", rich_help_panel=_TUPLES
        ),
    ] = "hold",
    goal: GoalFlag = None,
    policy: PolicyFlag = None,
    price: PriceFlag = None,
    payback: PaybackFlag = None,
    willingness: OldPaybackFlag = None,
    limit: LimitFlag = None,
    passive: PassiveFlag = False,
    dashboard: Annotated[
        bool,
        typer.Option(
            "--dashboard", help="Serve a page that shows the run, and print its link.", rich_help_panel=_WATCHING
        ),
    ] = False,
    journal_mb: Annotated[
        int, typer.Option(metavar="N", help="The most disk space for the journal, in MB.", rich_help_panel=_WATCHING)
    ] = 512,
    dead_letter_samples: Annotated[
        bool,
        typer.Option(
            help="Keep a few dead letters of each operator and reason in the journal; the default.",
            show_default=False,
            rich_help_panel=_WATCHING,
        ),
    ] = True,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT", help="Serve Prometheus metrics of the run there.", rich_help_panel=_WATCHING
        ),
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
        goal, policy, tuple(price or ()), tuple(limit or ()), passive, chosen_payback(payback, willingness)
    )
    run_command(
        RunRequest(
            application, master, checkpoint, duration, tuple(settings or ()), dead_letters, on_error, control,
            tuple(reset_state or ()), durable, state_directory, at_end, dashboard, journal_mb, dead_letter_samples,
            metrics,
        )
    )  # fmt: skip
