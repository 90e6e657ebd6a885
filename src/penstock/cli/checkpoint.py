"""`penstock checkpoint copy`: a copy of a checkpoint with an id and sinks of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.cli.screen import console
from penstock.errors import InputError


def copy_command(source: Path, target: Path, sinks: Sequence[str]) -> None:
    """Copies a checkpoint and says what the copy is."""
    from penstock.runtime.driver.checkpoint_copy import copy_checkpoint

    copied = copy_checkpoint(source, target, sinks=_folders(sinks))
    after = "before the first micro-batch" if copied.batch is None else f"after micro-batch {copied.batch}"
    lines = [f"{copied.directory} goes on {after}, as run {copied.run_id}"]
    lines += [f"sink {name}: files in {folder}" for name, folder in copied.sinks.items()]
    screen = console()
    for line in lines:
        screen.print(line, markup=False, soft_wrap=True)


def _folders(given: Sequence[str]) -> dict[str, str]:
    """
    >>> _folders(["out=a/b", "other=c=d"])
    {'out': 'a/b', 'other': 'c=d'}
    """
    folders = {}
    for text in given:
        name, sign, folder = text.partition("=")
        if not (name and sign and folder):
            raise InputError(f"--sink is NAME=DIR; got '{text}'")
        folders[name] = folder
    return folders
