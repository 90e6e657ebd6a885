"""What every bench needs around it: a folder on disk that goes away, a progress display, a report."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.machine import Machine, this_machine

Show = Callable[[str], None]


@contextmanager
def work_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder on disk for checkpoints and files."""
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


def report(title: str, tables: list[Table], notes: list[str], figures: Mapping[str, Any], keep: Path | None) -> None:
    """Prints machine, tables and notes, and as the last line the figures as JSON, which `keep` gets too."""
    machine, console = this_machine(packages=("pyspark", "pandas")), Console()
    wide = Console(width=max(console.width, 160), highlight=False)
    wide.print(title, soft_wrap=True)
    wide.print(str(machine), soft_wrap=True)
    for table in tables:
        wide.print(table)
    for note in notes:
        wide.print(note, soft_wrap=True)
    line = json.dumps({**figures, **_described(machine)})
    if keep is not None:
        keep.write_text(line + "\n")
    print(line)


def _described(machine: Machine) -> dict[str, Any]:
    return {"machine": machine.to_json(), "versions": dict(machine.versions)}


def table_of(caption: str, *columns: str) -> Table:
    """A table whose first column is text and whose others are figures."""
    table = Table(caption=caption, caption_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def millions(tuples_s: float) -> str:
    """`12.3`, in millions; small ones with more digits."""
    value = tuples_s / 1e6
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.4f}"
