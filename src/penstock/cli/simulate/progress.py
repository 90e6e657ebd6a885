"""The bar that shows how far a simulation is, and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table


def table_of(names: list[str], rows: list[list[str]]) -> Table:
    table = Table()
    for number, name in enumerate(names):
        table.add_column(name, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*map(escape, row))
    return table


@contextmanager
def progress(total: float) -> Iterator[Callable[[float, str], None]]:
    """A bar on the standard error, and only on a terminal."""
    screen = Console(stderr=True)
    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as display:
        task = display.add_task("", total=total)
        yield lambda done, text: display.update(task, completed=done, description=text)
