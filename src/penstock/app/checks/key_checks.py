"""Checks of what operators go by: keys, sort orders, and aggregates of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from penstock.app.operators import AggregateFunction, SortKey
from penstock.app.workbook import Entry
from penstock.block.schema import word_of
from penstock.expressions.functions.catalogue import AGGREGATES

_DIRECTIONS = {"asc": False, "desc": True}


def check_key_types(entry: Entry, names: Sequence[str], schema: pa.Schema) -> None:
    """Notes attributes that cannot be compared with each other: lists."""
    for name in names:
        if pa.types.is_nested(schema.field(name).type):
            entry.problem(f"goes by '{name}', which is a {word_of(schema.field(name).type)}", "choose a part of it")


def check_added(entry: Entry, keys: Mapping[str, str], schema: pa.Schema, added: pa.Schema) -> None:
    """Notes what does not fit of a side table: keys that the stream lacks, and attributes that it has already."""
    check_key_types(entry, [name for name in keys if entry.has_attribute(name, schema, "on")], schema)
    for name in added.names:
        if name in schema.names:
            entry.problem(f"adds '{name}' of its table, which its input has already", "rename it, or leave it out")


def sort_keys(entry: Entry, by: object, schema: pa.Schema) -> tuple[SortKey, ...]:
    """What 'price desc' or ['price', 'name asc'] means; what makes no sense is noted and left out."""
    words = [by] if isinstance(by, str) else list(by) if isinstance(by, Sequence) else []
    keys = [_sort_key(str(word), schema) for word in words if str(word).strip()]
    if not keys:
        entry.problem("needs by='attribute' or by=['attribute desc', ...]; got nothing")
    found = tuple(key for key in keys if entry.has_attribute(key.attribute, schema, "by"))
    check_key_types(entry, [key.attribute for key in found], schema)
    return found


def _sort_key(word: str, schema: pa.Schema) -> SortKey:
    name, _, direction = word.strip().rpartition(" ")
    if word in schema.names or direction.lower() not in _DIRECTIONS:
        return SortKey(word.strip())
    return SortKey(name.strip(), _DIRECTIONS[direction.lower()])


def check_functions(entry: Entry, functions: Mapping[str, object]) -> dict[str, pa.DataType]:
    """The types of the user's aggregates by lower-case name; what cannot be one is noted and left out."""
    types = {}
    for name, function in functions.items():
        if not isinstance(function, AggregateFunction):
            entry.problem(
                f"has a function '{name}' that is no aggregate; got {function!r}",
                "wrap it: ps.aggregate_function(function, returns='float64')",
            )
        elif not isinstance(name, str):
            entry.problem(f"has a function whose name is text; got {name!r}")
        elif name.lower() in AGGREGATES:
            entry.problem(f"has a function '{name}' of its own, the name of a built-in aggregate", "call it otherwise")
        else:
            types[name.lower()] = function.returns
    return types
