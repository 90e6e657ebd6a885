"""Results into files: each under a temporary name first, so that a file is whole or not there."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import InputError, system_reason
from penstock.host.atomic_file import DRAFT, Fence, draft_name, make_folder, no_fence, rename, sync
from penstock.host.paths.file_names import file_name

FORMATS = ("parquet", "csv")
COMPRESSION = "lz4"
ROW_GROUP_ROWS = 1 << 20  # few, so that a reader's vectors are long, and still parts that tasks can share


def write_table(
    table: pa.Table,
    folder: Path,
    name: str,
    format_: str,
    compression: str = COMPRESSION,
    *,
    durable: bool = False,
    fence: Fence = no_fence,
) -> Path:
    """Writes `folder`/`name`.`format_` and gives its path; `durable` and `fence` as with `write_whole`."""
    path = folder / f"{file_name(name)}.{format_}"
    draft = path.with_name(draft_name(f".{path.name}"))
    try:
        make_folder(str(folder), durable=durable)
        try:
            _write(table, draft, format_, compression)
            if durable:
                sync(str(draft))
            rename(str(draft), str(path), fence)
        finally:
            draft.unlink(missing_ok=True)
        if durable:
            sync(str(folder))
    except OSError as error:
        raise InputError(f"cannot write {path}: {system_reason(error)}") from error
    return path


def sweep_drafts(folder: Path) -> None:
    """Deletes files that were not finished; a driver that is still at work cannot publish them."""
    for draft in folder.glob(f".*{DRAFT}"):
        draft.unlink(missing_ok=True)


def _write(table: pa.Table, path: Path, format_: str, compression: str) -> None:
    if format_ == "csv":
        from pyarrow import csv

        csv.write_csv(flat(table), path)
    else:
        from pyarrow import parquet

        parquet.write_table(table, path, compression=compression, row_group_size=ROW_GROUP_ROWS)


def flat(table: pa.Table) -> pa.Table:
    """Columns as CSV can hold them: coded strings as strings, lists as JSON text."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, pc.cast(table.column(i), field.type.value_type))
        elif pa.types.is_list(field.type):
            texts = [None if value is None else json.dumps(value, default=str) for value in table.column(i).to_pylist()]
            table = table.set_column(i, field.name, pa.array(texts, pa.string()))
    return table
