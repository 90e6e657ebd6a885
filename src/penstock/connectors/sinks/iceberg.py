"""An Iceberg table as a sink: replicas write its data files, one transaction adds them and notes the batch.

The note is a property of the table, named after run and sink.  It is read first, and a commit that meets another one
fails, so that one looks again: a batch is added once, whoever commits it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.arguments import PATH, TEXT, check_arguments, checked_call, dict_of, or_none, secret
from penstock.block.block import Block
from penstock.connectors.files.staged_file import StagedFile, sweep_staged
from penstock.connectors.sinks.lake_tables import PlainWriter, check_columns, publish_once
from penstock.connectors.sinks.plain_types import plain_schema
from penstock.connectors.sinks.sink_port import Claim, Delivered, Delivery, Part, SinkPromise, Sweep
from penstock.errors import InputError, OperatorError
from penstock.host.extras import require
from penstock.host.paths.local_path import local_path

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_RETRIES = "commit.retry.num-retries"
_SECRET = {"stored": False, "shapes_state": False}


@dataclass(frozen=True, slots=True)
class IcebergSink:
    """A table of a catalogue, with its data files in a folder; a stored application has no catalogue's properties."""

    path: str
    table: str
    catalog: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False, metadata=_SECRET)

    def __reduce__(self) -> tuple[object, ...]:
        return IcebergSink, (self.path, self.table)

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise("exactly once", "replicas", in_order=False)

    def claim(self, claim: Claim) -> None:
        """Checks that the table has the stream's columns, and makes it where there is none."""
        require("ps.sinks.iceberg", "iceberg")
        if claim.schema is None or claim.only_checks:
            return
        self._check(claim.sink, self._table(claim.schema), claim.schema)

    def open(self, part: Part) -> StagedFile:
        return StagedFile(self.path, part, lambda path: PlainWriter(path, part.schema))

    def write(self, opened: StagedFile, tuples: Block) -> None:
        opened.write(tuples)

    def publish(self, delivery: Delivery) -> Delivered:
        require("ps.sinks.iceberg", "iceberg")
        marker = f"penstock.{delivery.batch.run_id}.{delivery.sink}"

        def look() -> tuple[Table, int | None]:
            table = self._table(delivery.schema)
            newest = table.properties.get(marker)
            return table, None if newest is None else int(newest)

        def commit(table: Table, files: tuple[Path, ...], is_last: bool) -> bool:
            return self._is_committed(table, delivery, marker, files, is_last=is_last)

        return publish_once(self.path, delivery, look, commit)

    def sweep(self, sweep: Sweep) -> None:
        sweep_staged(self.path, sweep)

    def _is_committed(
        self, table: Table, delivery: Delivery, marker: str, files: tuple[Path, ...], *, is_last: bool
    ) -> bool:
        """Adds the files and notes the batch in one transaction; False where another commit was faster."""
        from pyiceberg.exceptions import CommitFailedException

        table.metadata.properties[_RETRIES] = "0"  # in memory: pyiceberg would add the files to any newer snapshot
        delivery.fence()
        try:
            with table.transaction() as transaction:
                transaction.set_properties({marker: str(int(delivery.batch))})
                transaction.add_files([file.resolve().as_uri() for file in files], check_duplicate_files=False)
        except CommitFailedException as error:
            if is_last:
                raise OperatorError(f"sink '{delivery.sink}' cannot commit batch {delivery.batch} to the Iceberg table "
                                    f"'{self.table}': {error}") from error  # fmt: skip
            return False
        return True

    def _table(self, schema: pa.Schema) -> Table:
        """The table as it is now."""
        catalog = self._catalog()
        namespace = self.table.rpartition(".")[0]
        catalog.create_namespace_if_not_exists(namespace)
        return catalog.create_table_if_not_exists(self.table, schema=plain_schema(schema))

    def _catalog(self) -> Catalog:
        from pyiceberg.catalog import load_catalog

        own = dict(self.catalog)
        if not own:
            folder = Path(self.path)
            folder.mkdir(parents=True, exist_ok=True)
            uri = f"sqlite:///{(folder / 'catalog.db').resolve()}"
            own = {"type": "sql", "uri": uri, "warehouse": folder.resolve().as_uri()}
        return load_catalog(own.pop("name", "penstock"), **own)

    def _check(self, sink: str, table: Table, schema: pa.Schema) -> None:
        wanted = {own.name: _family(own.type) for own in plain_schema(schema)}
        found = {own.name: _family(own.type) for own in table.schema().as_arrow()}
        check_columns(sink, f"Iceberg table '{self.table}'", wanted, found)


def _family(kind: Any) -> str:
    """A type as Iceberg tells it from others."""
    if pa.types.is_large_string(kind):
        return str(pa.string())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{_family(kind.value_type)}>"
    return str(pa.int32()) if pa.types.is_integer(kind) and kind.bit_width < 32 else str(kind)


@checked_call("ps.sinks.iceberg")
def iceberg(path: str | Path, table: str, *, catalog: Mapping[str, str] | None = None) -> IcebergSink:
    """An Iceberg table, appended to exactly once; replicas write its data files.  Needs the extra `iceberg`.

    `path`: the folder of the data files.  `table`: namespace and name, such as `market.prices`; it is made where there
    is none.  `catalog`: properties of pyiceberg's catalogue, with its `name` if it is in pyiceberg's configuration;
    never stored, logged or shown.  None: a SQLite catalogue in the folder.

    >>> iceberg("lake", "market.prices")
    IcebergSink(path='lake', table='market.prices')
    """
    texts = dict_of("a dict of pyiceberg's properties", str)
    check_arguments(
        "ps.sinks.iceberg", path=(path, PATH), table=(table, TEXT), catalog=(catalog, secret(or_none(texts))),
    )  # fmt: skip
    if not all(table.partition(".")[::2]):
        raise InputError(f"table of ps.sinks.iceberg is a namespace and a name, such as 'market.prices'; got '{table}'")
    require("ps.sinks.iceberg", "iceberg")
    return IcebergSink(local_path(path, "path of ps.sinks.iceberg"), table, dict(catalog or {}))
