"""A Delta table as a sink: replicas write its data files, and a commit with the batch's number makes them count.

The commit carries an application transaction: the id of run and sink, and the batch as its version.  It is read first,
so that a batch is added once; Delta refuses a second commit of the same id to the version of the table that was read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.arguments import PATH, check_arguments, checked_call
from penstock.block.block import Block
from penstock.connectors.files.staged_file import StagedFile, sweep_staged
from penstock.connectors.sinks.lake_tables import PlainWriter, check_columns, publish_once
from penstock.connectors.sinks.plain_types import plain_schema
from penstock.connectors.sinks.sink_port import Claim, Delivered, Delivery, Part, SinkPromise, Sweep
from penstock.errors import OperatorError
from penstock.host.extras import require
from penstock.host.paths.local_path import local_path

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction


@dataclass(frozen=True, slots=True)
class DeltaSink:
    """A Delta table in a folder; it is made where there is none."""

    path: str

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("exactly once", "replicas", in_order=False)

    def claim(self, claim: Claim) -> None:
        """Checks that the table has the stream's columns; others may write to it, too."""
        require("ps.sinks.delta", "delta")
        if claim.schema is not None:
            self._check(claim.sink, claim.schema)

    def open(self, part: Part) -> StagedFile:
        return StagedFile(self.path, part, lambda path: PlainWriter(path, part.schema))

    def write(self, opened: StagedFile, tuples: Block) -> None:
        opened.write(tuples)

    def publish(self, delivery: Delivery) -> Delivered:
        require("ps.sinks.delta", "delta")
        application = f"penstock-{delivery.batch.run_id}-{delivery.sink}"

        def look() -> tuple[DeltaTable | None, int | None]:
            table = self._table()
            return table, None if table is None else table.transaction_version(application)

        def commit(table: DeltaTable | None, files: tuple[Path, ...], is_last: bool) -> bool:
            return self._is_committed(table, delivery, application, files, is_last=is_last)

        return publish_once(self.path, delivery, look, commit)

    def sweep(self, sweep: Sweep) -> None:
        sweep_staged(self.path, sweep)

    def _table(self) -> DeltaTable | None:
        from deltalake import DeltaTable

        return DeltaTable(self.path) if DeltaTable.is_deltatable(self.path) else None

    def _is_committed(
        self, table: DeltaTable | None, delivery: Delivery, application: str, files: tuple[Path, ...], *, is_last: bool
    ) -> bool:
        """Commits the files to the version of the table that was looked at; False where another commit was faster."""
        from deltalake import CommitProperties, Schema, Transaction
        from deltalake.exceptions import DeltaError
        from deltalake.transaction import create_table_with_add_actions

        marker = CommitProperties(
            max_commit_retries=0, app_transactions=[Transaction(application, int(delivery.batch))]
        )
        actions = [_action(file) for file in files]
        delivery.fence()
        try:
            if table is not None:
                table.create_write_transaction([*actions], "append", table.schema(), commit_properties=marker)
            else:
                schema = Schema.from_arrow(plain_schema(delivery.schema))
                create_table_with_add_actions(self.path, schema, actions, mode="error", commit_properties=marker)
        except DeltaError as error:
            if is_last:
                raise OperatorError(f"sink '{delivery.sink}' cannot commit batch {delivery.batch} to the Delta table "
                                    f"'{self.path}': {error}") from error  # fmt: skip
            return False
        return True

    def _check(self, sink: str, schema: pa.Schema) -> None:
        from deltalake import Schema

        table = self._table()
        if table is None:
            return
        wanted = {field.name: str(field.type) for field in Schema.from_arrow(plain_schema(schema)).fields}
        found = {field.name: str(field.type) for field in table.schema().fields}
        check_columns(sink, f"Delta table '{self.path}'", wanted, found)


@checked_call("ps.sinks.delta")
def delta(path: str | Path) -> DeltaSink:
    """A Delta table in a folder, appended to exactly once; replicas write its data files.  Needs the extra `delta`.

    Numbers without a sign have the next wider type, moments are in UTC.

    >>> delta("table")
    DeltaSink(path='table')
    """
    check_arguments("ps.sinks.delta", path=(path, PATH))
    require("ps.sinks.delta", "delta")
    return DeltaSink(local_path(path, "path of ps.sinks.delta"))


def _action(file: Path) -> AddAction:
    from deltalake.transaction import AddAction
    from pyarrow import parquet

    status, rows = os.stat(file), parquet.read_metadata(file).num_rows
    return AddAction(file.name, status.st_size, {}, int(status.st_mtime * 1000), True, f'{{"numRecords":{rows}}}')
