"""What the sinks for Delta and Iceberg have in common: replicas write data files, a commit adds each batch once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from penstock.connectors.files.staged_file import publish_file
from penstock.connectors.sinks.plain_types import plain_schema, plain_table
from penstock.connectors.sinks.sink_port import Delivered, Delivery
from penstock.errors import InputError

_TRIES = 10
Table = TypeVar("Table")


class PlainWriter:
    """Tables as Parquet, in types that tables of a lake have."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(path, plain_schema(schema), compression="zstd")

    def write_table(self, table: pa.Table, rows: int) -> None:
        self._writer.write_table(plain_table(table), rows)

    def close(self) -> None:
        self._writer.close()


def publish_once(
    folder: str,
    delivery: Delivery,
    look: Callable[[], tuple[Table, int | None]],
    commit: Callable[[Table, tuple[Path, ...], bool], bool],
) -> Delivered:
    """Publishes the files of a delivery and commits them, unless the table has the batch already.

    `look` gives the table as it is now and the newest batch in it.  `commit(table, files, is_last)` is False where
    another commit was faster: it may be another driver's of this batch, so the table is looked at again.
    """
    if not delivery.parts:
        return Delivered()
    files = tuple(_published(folder, delivery, part) for part in delivery.parts)
    for tried in range(_TRIES):
        table, newest = look()
        if newest is not None and newest >= delivery.batch:
            break
        if commit(table, files, tried == _TRIES - 1):
            break
    return Delivered(files)


def check_columns(sink: str, table: str, wanted: Mapping[str, str], found: Mapping[str, str]) -> None:
    """InputError where a table that is there has other columns than the stream; `table` says which, with its kind."""
    differing = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if differing:
        raise InputError(f"sink '{sink}' writes to the {table}, whose columns differ in: "
                         f"{', '.join(differing)}; take another table, or emit what this one has")  # fmt: skip


def _published(folder: str, delivery: Delivery, part: str) -> Path:
    """Gives a staged part its name in the folder, which no other run uses."""
    final = Path(folder) / f"penstock-{delivery.batch.run_id}-{part.replace('@', '-')}.parquet"
    publish_file(Path(folder), part, final, delivery)
    return final
