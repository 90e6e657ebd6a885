"""Parquet files by ranges of rows: row groups, or pieces of one, read with as little work as their columns need."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from penstock.connectors.files.whole_files import DAMAGED, unreadable
from penstock.connectors.planned.row_numbers import first_of
from penstock.connectors.planned.source_port import Reading, Split
from penstock.connectors.planned.zeros import with_zeros

_READ_ROWS = 1 << 20  # decoded at once: more needs more memory, fewer repeat the work of dictionaries
_CODED_BYTES = 4.0  # a text column with fewer bytes a row in its file repeats its words


@functools.lru_cache(maxsize=512)
def group_rows(path: str) -> tuple[int, ...] | None:
    """The rows of each row group; None where that cannot be read."""
    try:
        footer = pyarrow.parquet.read_metadata(path)
    except FileNotFoundError:
        raise
    except DAMAGED:
        return None
    return tuple(footer.row_group(group).num_rows for group in range(footer.num_row_groups))


def cut_between(groups: Sequence[int], begin: int, most: int, least: int) -> int | None:
    """A row at most `most` behind another one: where a row group ends, unless that gives fewer than `least`.

    What lies before a cut inside a row group has to be decoded twice.

    >>> cut_between([10, 10, 10], 0, 25, 12), cut_between([10, 10, 10], 20, 5, 1), cut_between([10], 0, 5, 0)
    (20, 25, None)
    """
    edges = [edge for edge in itertools.accumulate(groups) if begin < edge <= begin + most]
    if edges and edges[-1] - begin >= least:
        return edges[-1]
    return begin + most if least else None


def ranges_between(path: str, number: int, begin: int, end: int | None) -> Iterator[Split]:
    """The pieces of row groups between two rows; a file that cannot be read by groups is one piece."""
    groups = group_rows(path)
    if groups is None:
        yield Split({"path": path, "group": None}, first_of(number), 1)
        return
    first = 0
    for group, rows in enumerate(groups):
        start, stop = max(begin, first), first + rows if end is None else min(end, first + rows)
        if start < stop:
            part = {"path": path, "group": group, "skip": start - first, "rows": stop - start}
            yield Split(part, first_of(number) + start, stop - start)
        first += rows


def read_range(part: Mapping[str, Any], reading: Reading) -> Iterator[pa.RecordBatch]:
    """The rows of a piece.

    A piece in which reading fails before its first row gives none and says nothing: the piece before it has said it.
    """
    path, skip, left = part["path"], int(part["skip"]), int(part["rows"])
    try:
        for batch in _batches(path, int(part["group"]), reading, is_first=not skip):
            own = batch.slice(skip, left)
            skip, left = max(0, skip - batch.num_rows), left - own.num_rows
            if own.num_rows:
                yield own
            if not left:
                return
    except FileNotFoundError:
        raise
    except DAMAGED as error:
        if not skip:
            raise unreadable(reading.source, path, "a Parquet file", error) from error


def _batches(path: str, group: int, reading: Reading, *, is_first: bool) -> Iterator[pa.RecordBatch]:
    """All rows of a row group, attributes that nobody reads filled with zeros; the first piece says what is lacking."""
    with pyarrow.parquet.ParquetFile(path) as plain:
        choice = _choice(plain, group, reading)
        if not is_first and any(name not in plain.schema_arrow.names for name in reading.source.schema.names):
            return
    with pyarrow.parquet.ParquetFile(path, read_dictionary=list(choice.coded)) as file:
        rows = file.metadata.row_group(group).num_rows
        size = min(_READ_ROWS, max(rows, 1))
        for batch in file.iter_batches(size, row_groups=[group], columns=list(choice.read), use_threads=False):
            yield with_zeros(batch, choice.left_out)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which columns of a row group are read, which of them as dictionaries, and which attributes are left out."""

    read: tuple[str, ...]
    coded: tuple[str, ...]
    left_out: tuple[pa.Field, ...]


def _choice(file: pyarrow.parquet.ParquetFile, group: int, reading: Reading) -> _Choice:
    there, wanted = file.schema_arrow, reading.source.schema
    chunks = {}
    for place in range(file.metadata.num_columns):
        chunk = file.metadata.row_group(group).column(place)
        chunks[chunk.path_in_schema] = chunk
    found = [field.name for field in wanted if there.names.count(field.name) == 1 and field.name in chunks]
    fields = [wanted.field(name) for name in found]
    # A row that does not fit is reported with all of its attributes, so that all must be there.
    fits = len(found) == len(wanted) and all(_is_right(there.field(f.name).type, f, chunks[f.name]) for f in fields)
    left_out = [f for f in fields if fits and f.name in reading.unused]
    texts = [f.name for f in fields if pa.types.is_string(there.field(f.name).type) and _is_text(f.type)]
    names = [name for name in wanted.names if name in there.names and wanted.field(name) not in left_out]
    return _Choice(tuple(names), tuple(name for name in texts if _is_coded(chunks[name])), tuple(left_out))


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_dictionary(type_))


def _is_right(given: pa.DataType, field: pa.Field, chunk: Any) -> bool:
    """Whether every value of a column fits its attribute, so that nobody need look."""
    is_same = given == field.type or (pa.types.is_string(given) and _is_text(field.type))
    has_no_null = chunk.statistics is not None and chunk.statistics.has_null_count and not chunk.statistics.null_count
    return bool(is_same) and not pa.types.is_nested(field.type) and (field.nullable or has_no_null)


def _is_coded(chunk: Any) -> bool:
    """Whether a column's words repeat, so that reading them once and codes for the rest pays."""
    has_dictionary = any("DICTIONARY" in encoding for encoding in chunk.encodings)
    return has_dictionary and chunk.total_uncompressed_size < _CODED_BYTES * max(chunk.num_values, 1)
