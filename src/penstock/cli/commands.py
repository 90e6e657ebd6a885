"""All commands in the order of `penstock --help`; the options of each are in `command_lines`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from penstock.cli.command_lines.checkpoint import checkpoint_copy
from penstock.cli.command_lines.demo import candlesticks, demo, generate, init
from penstock.cli.command_lines.evaluate import evaluate
from penstock.cli.command_lines.explain import explain, profile
from penstock.cli.command_lines.plain_help import HELP_NAMES, PlainCommand, PlainGroup
from penstock.cli.command_lines.replay import replay
from penstock.cli.command_lines.run import run
from penstock.cli.command_lines.simulate import search, simulate
from penstock.cli.command_lines.watch import compare, journal, report, watch
from penstock.cli.options.control_flags import POLICIES_HELP

app = typer.Typer(
    cls=PlainGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=HELP_NAMES,
    help="Penstock: a self-tuning stream-processing system for Python people.",
)
checkpoint_app = typer.Typer(cls=PlainGroup, no_args_is_help=True, rich_markup_mode=None)
TRY, APPLICATIONS, RUNS, MODELS = "To begin with", "Applications", "Runs, live and afterwards", "Models"


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


def _add(panel: str, command: Callable[..., None], epilog: str | None = None) -> None:
    app.command(cls=PlainCommand, rich_help_panel=panel, epilog=epilog)(command)


_add(TRY, demo)
_add(TRY, init)
_add(TRY, generate)
_add(TRY, candlesticks)
_add(APPLICATIONS, explain)
_add(APPLICATIONS, evaluate)
_add(APPLICATIONS, run, POLICIES_HELP)
_add(APPLICATIONS, profile)
_add(RUNS, watch)
_add(RUNS, journal)
_add(RUNS, report)
_add(RUNS, compare)
_add(RUNS, replay, POLICIES_HELP)
_add(MODELS, simulate)
_add(MODELS, search)
app.add_typer(checkpoint_app, name="checkpoint", rich_help_panel=RUNS)
checkpoint_app.command("copy", cls=PlainCommand)(checkpoint_copy)


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
