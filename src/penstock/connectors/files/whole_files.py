"""Whole files as tables, checked for damage."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from penstock.connectors.port import SourceSpec
from penstock.errors import InputError

DAMAGED = (pa.ArrowException, OSError, UnicodeDecodeError)  # Arrow has no class of its own for bad pages


def read_parquet(path: Path, source: SourceSpec) -> pa.Table:
    """All rows of a file."""
    try:
        return validated(pyarrow.parquet.read_table(path, partitioning=None))
    except DAMAGED as error:
        raise unreadable(source, path, "a Parquet file", error) from error


def read_arrow(path: Path, source: SourceSpec) -> pa.Table:
    try:
        with pa.OSFile(str(path)) as file:  # in a mapped file, what points beyond its end ends the process
            return validated(pa.ipc.open_file(file).read_all())
    except DAMAGED as error:
        raise unreadable(source, path, "an Arrow file", error) from error


def validated(table: pa.Table) -> pa.Table:
    """The table, if its names are UTF-8 and its offsets, codes and texts are what their types say.

    Arrow trusts a file in both; damaged ones end in a crash or a UnicodeDecodeError somewhere later.
    """
    _ = table.schema.names
    table.validate(full=True)
    return table


def unreadable(source: SourceSpec, path: str | Path, what: str, error: Exception) -> InputError:
    """A file that is damaged, of another format, or not ours to read."""
    reason = " ".join(str(error).split())
    return InputError(f"source '{source.name}' reads {path}, which cannot be read as {what}: {reason}")
