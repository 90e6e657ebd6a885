"""A side table: the function that adds the columns of the row with a tuple's key."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import InputError
from penstock.host.paths.local_path import local_path

ORIGIN = "input_row"  # as `map` has it: which input row a row came from


@dataclass(frozen=True, slots=True, eq=False)
class SideTable:
    """Looks up tuples by `on` (attribute of the stream -> column of the table) in a table, or in Parquet at a path.

    With `refresh_s` the path is looked at again after so long, and read where it has changed.  `inner`: tuples whose
    key the table does not have are dropped, else the new attributes are null.
    """

    on: tuple[tuple[str, str], ...]
    table: pa.Table | None = None
    path: str | None = None
    refresh_s: float | None = None
    inner: bool = False
    _loaded: list[Any] = field(default_factory=list, repr=False)  # [when, changed at, index], of this process

    def __reduce__(self) -> tuple[object, ...]:
        return SideTable, (self.on, self.table, self.path, self.refresh_s, self.inner)

    def columns(self) -> pa.Schema:
        """The attributes that it adds."""
        keys = {column for _, column in self.on}
        return pa.schema(
            [pa.field(own.name, _plain(own.type)) for own in self.index.table.schema if own.name not in keys]
        )

    def key_types(self) -> pa.Schema:
        """The types of its keys, by the stream's names for them."""
        table = self.index.table
        return pa.schema([pa.field(name, table.schema.field(column).type) for name, column in self.on])

    def __call__(self, batch: pa.RecordBatch) -> pa.Table:
        index = self.index
        found = index.rows_of([batch.column(name) for name, _ in self.on])
        rows = np.flatnonzero(found >= 0) if self.inner else np.arange(batch.num_rows)
        own = pa.Table.from_batches([batch]).take(pa.array(rows)) if self.inner else pa.Table.from_batches([batch])
        places = pa.array(found[rows], mask=found[rows] < 0)
        for name in self.columns().names:
            own = own.append_column(name, index.table.column(name).take(places))
        return own.append_column(ORIGIN, pa.array(rows)) if self.inner else own

    @property
    def index(self) -> Index:
        now_s = time.monotonic()
        if self._loaded and (self.refresh_s is None or now_s - self._loaded[0] < self.refresh_s):
            return self._loaded[2]  # type: ignore[no-any-return]
        changed = _changed_at(self.path)
        if not self._loaded or changed != self._loaded[1]:
            self._loaded[:] = [now_s, changed, Index(_read(self), [column for _, column in self.on])]
        self._loaded[0] = now_s
        return self._loaded[2]  # type: ignore[no-any-return]


class Index:
    """The rows of a table by their keys: codes of each key's values, combined and sorted."""

    def __init__(self, table: pa.Table, keys: list[str]) -> None:
        self.table = table
        columns = [_without_signed_zero(table.column(key).combine_chunks()) for key in keys]
        self._values = [pc.unique(column.drop_null()) for column in columns]
        self._pairs: list[npt.NDArray[np.int64]] = []
        codes, is_known = self._codes(columns)
        if len(np.unique(codes[is_known])) < is_known.sum():
            raise InputError(f"a side table has each key once; got some of {', '.join(keys)} more than once")
        rows = np.flatnonzero(is_known)
        self._rows = rows[np.argsort(codes[rows], kind="stable")]
        self._sorted = codes[self._rows]

    def rows_of(self, columns: list[pa.Array]) -> npt.NDArray[np.int64]:
        """The row of each key; -1 where the table has none."""
        codes, is_known = self._codes(columns)
        if not len(self._sorted):
            return np.full(len(codes), -1, np.int64)
        place = np.minimum(np.searchsorted(self._sorted, codes), len(self._sorted) - 1)
        return np.where(is_known & (self._sorted[place] == codes), self._rows[place], -1).astype(np.int64)

    def _codes(self, columns: list[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """A number for each row's key; numbers stay below (rows of the table + 1) ** 2, however many columns it has."""
        total, known = self._codes_of(columns[0], self._values[0])
        for number, (column, values) in enumerate(zip(columns[1:], self._values[1:], strict=True)):
            code, has_value = self._codes_of(column, values)
            known &= has_value
            total, has_pair = self._pair_numbers(number, total * (len(values) + 1) + code, known)
            known &= has_pair
        return total, known

    def _codes_of(self, column: Any, values: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        if not len(values):
            return np.full(len(column), -1, np.int64), np.zeros(len(column), np.bool_)
        plain = _without_signed_zero(_as_type(column, values.type))
        code = pc.fill_null(pc.index_in(plain, values), -1).to_numpy(zero_copy_only=False).astype(np.int64)
        return code, (code >= 0) & np.asarray(pc.is_valid(plain))

    def _pair_numbers(
        self, number: int, pairs: npt.NDArray[np.int64], known: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Numbers from 0 for pairs that the table has; the first call, with the table's own, notes them."""
        if number == len(self._pairs):
            self._pairs.append(np.unique(pairs[known]))
        own = self._pairs[number]
        if not len(own):
            return pairs, np.zeros(len(pairs), np.bool_)
        place = np.minimum(np.searchsorted(own, pairs), len(own) - 1)
        return place, own[place] == pairs


def _as_type(column: Any, kind: pa.DataType) -> Any:
    """A stream's keys in the type of the table's; null where that type has no such value, and the table no such key."""
    try:
        return pc.cast(column, kind)
    except pa.ArrowInvalid:
        nearest = pc.cast(column, kind, safe=False)
        is_same = pc.equal(pc.cast(nearest, column.type, safe=False), column)
        return pc.if_else(is_same, nearest, pa.scalar(None, kind))


def _without_signed_zero(column: Any) -> Any:
    """-0.0 as 0.0, which is the same key."""
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column


def side_table(
    table: object, on: Mapping[str, str], *, refresh_s: float | None = None, inner: bool = False
) -> SideTable:
    """Of an Arrow table, a dict of columns, a batch DataFrame of Spark or pandas, or Parquet at a path."""
    keys = tuple(on.items())
    if isinstance(table, str | Path):
        path = Path(local_path(table, "a side table"))
        return SideTable(keys, None, str(path.absolute()), refresh_s, inner)
    if refresh_s is not None:
        raise InputError("a side table that is read again is Parquet at a path; got refresh_s with a table in memory")
    return SideTable(keys, _as_arrow(table), None, None, inner)


def _as_arrow(table: Any) -> pa.Table:
    if getattr(table, "isStreaming", False):
        raise InputError("a side table is a batch DataFrame; got a streaming one")
    if isinstance(table, pa.Table):
        return table
    try:
        if hasattr(table, "toArrow"):
            return table.toArrow()
        return pa.table(table) if isinstance(table, Mapping) else pa.Table.from_pandas(table, preserve_index=False)
    except (pa.ArrowException, AttributeError, TypeError, ValueError) as error:
        rule = "a side table is an Arrow table, a dict of columns, a batch DataFrame or a path"
        raise InputError(f"{rule}; got {type(table).__name__}") from error


def _read(own: SideTable) -> pa.Table:
    from pyarrow import parquet

    if own.table is not None:
        return _checked(own.table, own)
    assert own.path is not None
    try:
        return _checked(parquet.read_table(own.path), own)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"a side table is Parquet at '{own.path}', which cannot be read: {error}") from error


def _checked(table: pa.Table, own: SideTable) -> pa.Table:
    missing = [column for _, column in own.on if column not in table.column_names]
    if missing:
        there = ", ".join(table.column_names)
        raise InputError(f"a side table has its keys as columns; got none named {', '.join(missing)}; it has: {there}")
    plain = pa.schema([pa.field(field.name, _plain(field.type)) for field in table.schema])
    try:
        return table.cast(plain).combine_chunks()
    except pa.ArrowInvalid as error:
        raise InputError(f"a side table has values that a stream can have; got others: {error}") from error


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type that a stream has for it."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind


def _changed_at(path: str | None) -> Any:
    """Something that is another where what is at a path has changed."""
    if path is None:
        return None
    own = Path(path)
    files = sorted(own.rglob("*.parquet")) if own.is_dir() else [own]
    try:
        return tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    except OSError:
        return None
