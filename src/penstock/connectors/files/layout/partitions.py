"""Into which folder of a partitioned sink a tuple goes: `day=2026-11-18/ticker=IBM`, as Spark and Arrow read it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import Problem, did_you_mean

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_DATE = re.compile(r"date\((\w+)\)")


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """One level of folders: the values of an attribute, or with `is_date` the days (UTC) of its times.

    >>> key_of("date(at)"), key_of("ticker").folder
    (PartitionKey(attribute='at', is_date=True), 'ticker')
    """

    attribute: str
    is_date: bool = False

    @property
    def folder(self) -> str:
        return f"{self.attribute}_date" if self.is_date else self.attribute

    def values(self, column: pa.ChunkedArray) -> pa.Array:
        """The value of each row as text, null where there is none."""
        if self.is_date:
            if pa.types.is_floating(column.type):  # seconds since 1970; what is no time has no day
                finite = pc.if_else(pc.is_finite(column), column, None)
                column = pc.cast(pc.floor(finite), pa.int64()).cast(pa.timestamp("s"))
            column = pc.strftime(column.cast(pa.timestamp("s"), safe=False), "%Y-%m-%d")
        elif pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return column.cast(pa.string())


def key_of(text: str) -> PartitionKey:
    """The key that a text names: an attribute, or `date(attribute)`."""
    found = _DATE.fullmatch(text)
    return PartitionKey(text) if found is None else PartitionKey(found[1], is_date=True)


def partition_problems(keys: Sequence[str], schema: pa.Schema) -> Iterator[Problem]:
    """What is wrong with the keys of a partitioned sink whose tuples have a schema."""
    for text in keys:
        own = key_of(text)
        if own.attribute not in schema.names:
            hint = did_you_mean(own.attribute, schema.names)
            known = ", ".join(schema.names)
            yield Problem(
                "", f"is partitioned by '{own.attribute}', which its input does not have; it has: {known}", hint
            )
            continue
        type_ = schema.field(own.attribute).type
        if not (_has_dates(type_) if own.is_date else _has_values(type_)):
            rule = ("date(...) takes a timestamp, a date, or seconds since 1970 as float64" if own.is_date else
                    "a partition is by text, whole numbers, booleans or dates")  # fmt: skip
            yield Problem("", f"is partitioned by '{text}' of type {type_}; {rule}", "")
    dropped = {key_of(text).attribute for text in keys if not key_of(text).is_date}
    if schema.names and not set(schema.names) - dropped:
        yield Problem("", "is partitioned by all of its attributes, so that its files have none", "")


def _has_dates(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) or pa.types.is_date(type_) or pa.types.is_float64(type_))


def _has_values(type_: pa.DataType) -> bool:
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    kinds = (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_date)
    return any(is_kind(type_) for is_kind in kinds)


def split(table: pa.Table, keys: Sequence[PartitionKey]) -> Iterator[tuple[str, pa.Table]]:
    """The tuples of each folder, in their order, without the attributes that the folder's name has."""
    values = [own.values(table.column(own.attribute)) for own in keys]
    columns = {f"k{i}": column for i, column in enumerate(values)}
    rows = pa.table(columns).append_column("row", pa.array(range(table.num_rows), pa.int64()))
    grouped = rows.group_by(list(columns), use_threads=False).aggregate([("row", "list")])
    remaining = table.drop_columns([own.attribute for own in keys if not own.is_date])
    for group in grouped.to_pylist():
        names = (f"{own.folder}={_escaped(group[f'k{i}'])}" for i, own in enumerate(keys))
        yield "/".join(names), remaining.take(pa.array(group["row_list"], pa.int64()))


def _escaped(value: str | None) -> str:
    """A value as part of a path; a dot at its beginning would hide the folder, and `.` is another one."""
    if not value:  # an empty text has no folder of its own in Hive's scheme either
        return NO_VALUE
    text = quote(value, safe=" ")
    return text.replace(".", "%2E", 1) if text.startswith(".") else text
