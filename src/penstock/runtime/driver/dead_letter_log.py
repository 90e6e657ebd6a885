"""Dead letters of a run: counted always, kept up to a limit, and written by batch where a directory was given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from penstock.block.dead_letters import SCHEMA
from penstock.connectors.files.staged_file import StagedFile, publish_files
from penstock.connectors.files.writers import COMPRESSION, sweep_drafts, write_table
from penstock.connectors.port import BatchId
from penstock.connectors.sinks.sink_port import Delivery, Part
from penstock.errors import InputError, OperatorError
from penstock.host.atomic_file import Fence, no_fence
from penstock.host.paths.local_path import local_path

IN_MEMORY = 10_000
IN_MEMORY_BYTES = 64 << 20
_SINK = "the dead letters"
BEFORE_ALL = -1  # what was found in files that were read before the first batch


class LetterBox:
    """Takes the dead letters of each batch; with `on_error='fail'` the first one stops the application instead.

    `limit` is how many are kept in memory (None: all), and no more than 64 MiB of them.
    """

    def __init__(
        self, directory: str | Path | None = None, *, on_error: str = "dead_letter", limit: int | None = IN_MEMORY
    ) -> None:
        if on_error not in ("dead_letter", "fail"):
            raise InputError(f"on_error is 'dead_letter' or 'fail'; got {on_error!r}")
        self.folder = None if directory is None else Path(local_path(directory, "dead_letters")).absolute()
        self._fail, self._limit = on_error == "fail", limit
        self._tables: list[pa.Table] = []
        self._in_memory = self._bytes = 0
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

    def sweep(self) -> None:
        """Deletes what drivers before this one did not finish."""
        if self.folder is not None:
            sweep_drafts(self.folder)

    def add(self, batch: int, letters: Sequence[pa.Table], *, durable: bool = False, fence: Fence = no_fence) -> None:
        """Takes the letters of a batch at once; those from before the first batch have a file of their own."""
        if batch == BEFORE_ALL:
            table = pa.concat_tables([SCHEMA.empty_table(), *letters])
            if self.folder is not None and table.num_rows:
                write_table(table, self.folder, "before-all", "parquet", durable=durable, fence=fence)
        else:
            self.publish(batch, self.stage(batch, 0, letters, durable=durable), durable=durable, fence=fence)
        self.note(letters)

    def stage(self, batch: int, epoch: int, letters: Sequence[pa.Table], *, durable: bool = False) -> tuple[str, ...]:
        """Writes the letters of a batch that does not count yet, and names their file, where there are any."""
        table = pa.concat_tables([SCHEMA.empty_table(), *letters])
        if self.folder is None or not table.num_rows:
            return ()
        part = Part(_SINK, SCHEMA, BatchId(batch, ""), epoch, durable=durable)
        file = StagedFile(str(self.folder), part, lambda path: ParquetWriter(path, SCHEMA, compression=COMPRESSION))
        file.write_table(table)
        return (file.close(),)

    def publish(
        self,
        batch: int,
        parts: Sequence[str],
        *,
        durable: bool = False,
        fence: Fence = no_fence,
        may_replace: bool = True,
    ) -> None:
        """Gives the file of a batch that counts its name; a batch that comes again replaces it, or has none."""
        if self.folder is not None:
            delivery = Delivery(
                _SINK, SCHEMA, BatchId(batch, ""), tuple(parts), durable=durable, fence=fence, may_replace=may_replace
            )
            publish_files(str(self.folder), ".parquet", delivery)

    def note(self, letters: Sequence[pa.Table]) -> None:
        """Counts letters, and keeps the first of them."""
        table = pa.concat_tables([SCHEMA.empty_table(), *letters])
        if not table.num_rows:
            return
        self.count += table.num_rows
        if self._limit is None:
            self._tables.append(table)
        elif taken := self._taken(table):  # a slice would keep all of the table in memory, or of the file it is in
            self._tables.append(table.take(pa.array(range(taken))))
            self._in_memory += taken
            self._bytes += self._tables[-1].nbytes

    def _taken(self, table: pa.Table) -> int:
        """How many of a batch's letters are kept in memory."""
        assert self._limit is not None
        taken: int = min(table.num_rows, self._limit - self._in_memory)
        while taken and table.slice(0, taken).nbytes > IN_MEMORY_BYTES - self._bytes:
            taken //= 2
        return taken


def failure(letter: dict[str, str]) -> str:
    """The sentence with which a dead letter stops an application."""
    return (
        f"operator '{letter['operator']}' {letter['reason']}; got {letter['row']}; "
        "on_error='fail' stops at the first such tuple"
    )
