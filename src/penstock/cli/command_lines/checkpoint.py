"""The command line of `penstock checkpoint copy`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def checkpoint_copy(
    source: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="What to copy.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="NEW", help="A new directory for the copy.", show_default=False)],
    sinks: Annotated[
        list[str] | None,
        typer.Option(
            "--sink", metavar="NAME=DIR", help="Where a sink of the copy writes its files. Default: NEW-sinks/NAME."
        ),
    ] = None,
) -> None:
    """Copy a checkpoint, running or not, to run it next to the original.

    The copy goes on after the newest micro-batch that is done, with a run id and sink folders of its own.

    Examples:

    - `penstock checkpoint copy out/checkpoint out/staging`

    - `penstock checkpoint copy out/checkpoint out/staging --sink out=out/staging-results`
    """
    from penstock.cli.checkpoint import copy_command

    copy_command(source, target, tuple(sinks or ()))
