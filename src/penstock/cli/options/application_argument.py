"""APP, the argument of the commands that take an application."""

from __future__ import annotations

from typing import Annotated

import typer

_APPLICATION_HELP = "FILE.py[:NAME], MODULE:NAME, FILE.spade or FILE.json"
ApplicationArgument = Annotated[str, typer.Argument(metavar="APP", help=_APPLICATION_HELP, show_default=False)]
