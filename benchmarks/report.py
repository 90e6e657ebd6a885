"""What benchmarks share: a place for their files, progress on the screen, tables, and the JSON object at the end."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.machine import Machine, this_machine

Show = Callable[[str], None]
Effort = TypeVar("Effort")
Result = TypeVar("Result")


@contextmanager
def work_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder on disk for checkpoints and files, which goes away at the end."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def progress_shown() -> Iterator[Show]:
    """A function that shows what is being done; it goes to the standard error, and only to a terminal."""
    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    screen = Console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as display:
        task = display.add_task("", total=None)
        yield lambda text: display.update(task, description=text)


def measured(run: Callable[[Effort, Path, Show], Result], effort: Effort, folder: Path | None) -> Result:
    """What a benchmark finds, in a folder of its own and with its progress shown."""
    with work_folder(folder) as place, progress_shown() as show:
        return run(effort, place, show)


def wide_console(columns: int) -> Console:
    """The standard output, at least so many columns wide: tables that a terminal would cut are whole in a file."""
    return Console(width=max(Console().width, columns), highlight=False)


def table_of(title: str, *columns: str) -> Table:
    """An empty table under its title; the first column is aligned left, as is one named '<...', which may wrap."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        wraps = column.startswith("<")
        justify = "left" if wraps or not number else "right"
        table.add_column(column.removeprefix("<"), justify=justify, no_wrap=not wraps)  # type: ignore[arg-type]
    return table


def report(
    title: str, tables: Sequence[Table], notes: Sequence[str], figures: Mapping[str, Any], json_file: Path | None
) -> None:
    """Prints what a benchmark on Spark found, on this machine, and ends with one JSON object."""
    machine, console = this_machine(packages=("pyspark", "pandas")), wide_console(160)
    console.print(title, soft_wrap=True)
    console.print(str(machine), soft_wrap=True)
    for table in tables:
        console.print(table)
    for note in notes:
        console.print(note, soft_wrap=True)
    finish(figures, machine, json_file)


def finish(figures: Mapping[str, Any], machine: Machine, json_file: Path | None) -> None:
    """Prints one JSON object as the last line, with machine and versions; also into a file where one is named."""
    line = json.dumps({**figures, "machine": machine.to_json(), "versions": dict(machine.versions)})
    if json_file is not None:
        json_file.write_text(line + "\n")
    print(line)


def verdict(missed: Sequence[str]) -> str:
    """One line about goals.

    >>> verdict([]), verdict(["1 % of all CPU"])
    ('all goals reached', 'goals missed: 1 % of all CPU')
    """
    return "goals missed: " + "; ".join(missed) if missed else "all goals reached"


def millions(tuples_s: float) -> str:
    """`12.3`, in millions; small ones with more digits."""
    value = tuples_s / 1e6
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.4f}"
