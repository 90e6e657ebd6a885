"""Dead letters of a run: counted always, kept up to a limit, and written by batch where a directory was given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from penstock.block.dead_letters import SCHEMA
from penstock.connectors.files.writers import write_table
from penstock.errors import InputError, OperatorError

IN_MEMORY = 10_000
BEFORE_ALL = -1  # what was found in files that were read before the first batch


class LetterBox:
    """Takes the dead letters of each batch; with `on_error='fail'` the first one stops the application instead.

    `limit` is how many are kept in memory (None: all).
    """

    def __init__(
        self, directory: str | Path | None = None, *, on_error: str = "dead_letter", limit: int | None = IN_MEMORY
    ) -> None:
        if on_error not in ("dead_letter", "fail"):
            raise InputError(f"on_error is 'dead_letter' or 'fail'; got {on_error!r}")
        self._directory = None if directory is None else Path(directory)
        self._fail, self._limit = on_error == "fail", limit
        self._tables: list[pa.Table] = []
        self._in_memory = 0
        self.count = 0

    @property
    def table(self) -> pa.Table:
        """The first of all letters so far, up to the limit."""
        return pa.concat_tables([SCHEMA.empty_table(), *self._tables])

    def refuse(self, letters: Sequence[pa.Table]) -> None:
        """Raises for the first letter where that was asked for; called before anything of the batch counts."""
        first = next((table for table in letters if table.num_rows), None)
        if self._fail and first is not None:
            raise OperatorError(failure(first.slice(0, 1).to_pylist()[0]))

    def add(self, batch: int, letters: Sequence[pa.Table]) -> None:
        """Takes the letters of a batch; one that comes again replaces its file."""
        table = pa.concat_tables([SCHEMA.empty_table(), *letters])
        if not table.num_rows:
            return
        if self._directory is not None:
            name = "before-all" if batch == BEFORE_ALL else f"batch-{batch:012d}"
            write_table(table, self._directory, name, "parquet")
        self.count += table.num_rows
        taken = table.num_rows if self._limit is None else min(table.num_rows, self._limit - self._in_memory)
        if taken:  # a slice would keep all of the table in memory
            self._tables.append(table if taken == table.num_rows else table.take(pa.array(range(taken))))
            self._in_memory += taken


def failure(letter: dict[str, str]) -> str:
    """The sentence with which a dead letter stops an application."""
    return (
        f"operator '{letter['operator']}' {letter['reason']}; got {letter['row']}; "
        "on_error='fail' stops at the first such tuple"
    )
