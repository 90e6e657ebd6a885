"""The command lines of `penstock explain` and `profile`: what an application is made of, and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options.application_argument import ApplicationArgument
from penstock.cli.options.setting_forms import SETTING_FORMS


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
    node: Annotated[
        str | None, typer.Option(metavar="NAME", help="The node of the store that --rate is predicted for.")
    ] = None,
    neighbours: Annotated[
        float, typer.Option(metavar="CORES", min=0, help="Busy cores of other programs on the node, with --rate.")
    ] = 0.0,
    fuse: Annotated[
        bool,
        typer.Option("--fuse", help="With --rate: the chosen fusion compared with none, all and the requested one."),
    ] = False,
    profile: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Costs of operators. Default: those in the store.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help=f"As in penstock run: {SETTING_FORMS}.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Show what an application is made of: operators, state, order, parallelism, elements.

    Examples:

    - `penstock explain examples/spade/vwap-cf3.spade`

    - `penstock explain penstock.cli.demo.vwap:vwap_per_ticker --picture out/vwap.svg`

    - `penstock explain examples/momentum.py --json`

    - `penstock explain penstock.cli.demo.vwap:vwap_per_ticker --rate 50000 --fuse`

    - `penstock explain penstock.cli.demo.vwap:vwap_per_ticker --set fusion=quotes+trades,window+vwap`
    """
    from penstock.cli.explain import CostQuestion, explain_command

    question = CostQuestion(rate, nodes, profile, fuse, tuple(settings or ()), node, neighbours)
    explain_command(application, picture, question, as_json=json)


def profile(
    application: ApplicationArgument,
    show: Annotated[bool, typer.Option("--show", help="Print what the store has, and run nothing.")] = False,
    rates: Annotated[
        str | None,
        typer.Option(metavar="N,N,N", help="Source tuples/s to run at. Default: shares of the highest rate."),
    ] = None,
    seconds: Annotated[float, typer.Option(metavar="S", help="The longest time to run at each rate.")] = 10.0,
    master: Annotated[str, typer.Option(metavar="URL", help="A local master.")] = "local[2]",
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", metavar="NAME=FILE", help="Tuples of a source; they are repeated."),
    ] = None,
    from_journal: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Learn from a recorded run: a journal, or the checkpoint that has one."),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of this node in the store. Default: its processor's."),
    ] = None,
    contention: Annotated[
        bool, typer.Option("--contention", help="Also run next to a neighbour that writes 10 MB of memory.")
    ] = False,
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

    - `penstock profile examples/streaming/vwap.py --node rack-2 --contention`
    """
    from penstock.cli.profile import ProfileRequest, profile_command

    profile_command(
        ProfileRequest(
            application, rates, master, seconds, tuple(inputs or ()), output, from_journal, show, json, node, contention
        )
    )  # fmt: skip
