"""All commands in the order of `penstock --help`; the options of each are in `command_lines`."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.command_lines.checkpoint import checkpoint_copy
from penstock.cli.command_lines.demo import candlesticks, demo, generate, init
from penstock.cli.command_lines.evaluate import evaluate
from penstock.cli.command_lines.explain import explain, profile
from penstock.cli.command_lines.replay import replay
from penstock.cli.command_lines.run import run
from penstock.cli.command_lines.simulate import search, simulate
from penstock.cli.command_lines.watch import compare, journal, report, watch
from penstock.cli.options.control_flags import POLICIES_HELP

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Penstock: a self-tuning stream-processing system for Python people.",
)
checkpoint_app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="Copy a checkpoint.")


@app.callback(invoke_without_command=True)
def _penstock(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        import penstock

        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit


@checkpoint_app.callback()
def _checkpoint() -> None:
    """Copy a checkpoint."""


app.command()(evaluate)
app.command(epilog=POLICIES_HELP)(run)
app.command()(explain)
app.command()(profile)
app.command()(journal)
app.command()(watch)
app.command()(report)
app.command()(compare)
app.command()(simulate)
app.command()(search)
app.command(epilog=POLICIES_HELP)(replay)
app.command()(candlesticks)
app.command()(generate)
app.command()(init)
app.command()(demo)
app.add_typer(checkpoint_app, name="checkpoint")
checkpoint_app.command("copy")(checkpoint_copy)


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
