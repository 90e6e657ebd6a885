"""What the commands put on the screen: tables, a progress bar, amounts for people."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from penstock.host.phases import listening

Advance = Callable[[int, int], None]


def console() -> Console:
    """The screen; where there is no terminal, lines are as long as they need to be."""
    own = Console(highlight=False)
    return own if own.is_terminal else Console(highlight=False, width=max(own.width, 160))


@contextmanager
def progress_bar(text: str) -> Iterator[Advance]:
    """A function of (tuples done, tuples in all) that moves a bar on stderr, if that is a terminal."""
    screen = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(text, total=None, rate="")

        def advance(done: int, total: int) -> None:
            elapsed_s = bar.tasks[0].elapsed or 0.0
            bar.update(task, completed=done, total=max(total, 1), rate=rate(done, elapsed_s) if elapsed_s else "")

        yield advance


@contextmanager
def starting(screen: Console, text: str) -> Iterator[None]:
    """Says what is being waited for, with the phase of a start: a moving line on a terminal, else a plain one."""
    if not screen.is_terminal:
        screen.print(f"{text} ...", markup=False, soft_wrap=True)
        yield
        return
    with (
        screen.status(escape(f"{text} ...")) as status,
        listening(lambda phase: status.update(escape(f"{text}: {phase} ..."))),
    ):
        yield


def show_table(screen: Console, title: str, table: Table, *, style: str = "bold") -> None:
    """A table under its title, which may be longer than the table is wide."""
    screen.print(f"[{style}]{escape(title)}[/{style}]", soft_wrap=True)
    screen.print(table)


def rows_table(table: pa.Table, rows: int) -> Table:
    """The first rows of a result."""
    shown = Table()
    for field in table.schema:
        shown.add_column(escape(field.name), justify="right" if _is_number(field.type) else "left", overflow="fold")
    for row in table.slice(0, rows).to_pylist():
        shown.add_row(*(escape(value_text(value)) for value in row.values()))
    return shown


def value_text(value: object) -> str:
    """A value as a cell."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.2f}"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, list):
        inside = ", ".join(value_text(member) for member in value[:8])
        return f"[{inside}{', ...' if len(value) > 8 else ''}]"
    return str(value)


def rate(tuples: int, seconds: float) -> str:
    """`1.23 M tuples/s`."""
    per_second = tuples / seconds if seconds > 0 else 0.0
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if per_second >= size:
            return f"{per_second / size:,.2f} {letter} tuples/s"
    return f"{per_second:,.0f} tuples/s"


def size(count_bytes: int) -> str:
    """`3.2 MB`."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count_bytes >= factor:
            return f"{count_bytes / factor:,.1f} {unit}"
    return f"{count_bytes} bytes"


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_))
