"""The command line: run, evaluate, explain, simulate, search, generate, demo, journal, replay, checkpoint and others.

Each command has a module of its own, which is imported when the command runs, so that `penstock --help` is quick.
Mistakes of the user end with one sentence and exit code 2.

The top room: it may import every other one.  Begin with `commands.py`, which lists all commands;
their options are in `command_lines`.
"""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from penstock.cli.command_lines.usage import is_usage_error, usage_error
from penstock.errors import InputError, PenstockError

WRONG = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a command of `penstock` and ends the process."""
    try:
        from penstock.cli.commands import app
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run_and_exit(app, arguments, "penstock")


def run_and_exit(app: Callable[..., object], arguments: Sequence[str] | None, program: str) -> NoReturn:
    """Runs a command line and ends the process: 0, 2 with one sentence per mistake, 130 on Ctrl-C.

    What nobody foresaw keeps its traceback, but for a file or folder that the system refuses: that has its sentence.
    What the terminal's encoding lacks is written as `?`.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    given = sys.argv[1:] if arguments is None else list(arguments)
    code: object = 0
    try:
        code = app(args=given, prog_name=program, standalone_mode=False)
    except PenstockError as error:
        print(error, file=sys.stderr)
        sys.exit(WRONG)
    except OSError as error:
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        name = "the output" if error.filename is None else f"'{error.filename}'"
        reason = (error.strerror or type(error).__name__).lower()
        print(InputError(f"{name} cannot be used: {reason}"), file=sys.stderr)
        sys.exit(WRONG)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if not is_usage_error(error):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error)
        else:
            print(usage_error(error, program, given), file=sys.stderr)
        sys.exit(WRONG)
    sys.exit(code if isinstance(code, int) else 0)
