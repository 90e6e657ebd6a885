"""Dead letters on the screen: how many, by operator and reason."""

from __future__ import annotations

import pyarrow as pa
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.cli.screen import show_table
from penstock.measure.html_table import amount

ON_ERROR = ("dead_letter", "fail")


def show_dead_letters(screen: Console, letters: pa.Table, count: int) -> None:
    """A table of reasons, if there are letters; `count` may be more than were kept."""
    if not count:
        return
    counts = letters.group_by(["operator", "reason"], use_threads=False).aggregate([([], "count_all")])
    shown = Table("operator", "reason")
    shown.add_column("tuples", justify="right")
    for row in counts.to_pylist():
        shown.add_row(escape(row["operator"]), escape(row["reason"]), f"{row['count_all']:,}")
    more = f", the first {letters.num_rows:,} of them" if count > letters.num_rows else ""
    show_table(screen, amount(count, "dead letter") + more, shown, style="bold red")
