"""Checks of what operators go by: keys, sort orders, and aggregates of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from penstock.app.operators import AggregateFunction, SortKey
from penstock.app.side_table import ORIGIN
from penstock.app.workbook import Entry
from penstock.block.schema import word_of
from penstock.expressions.functions.catalogue import AGGREGATES

_DIRECTIONS = {"asc": False, "desc": True}


def check_key_types(entry: Entry, names: Sequence[str], schema: pa.Schema) -> None:
    """Notes attributes that cannot be compared with each other: lists."""
    for name in names:
        if pa.types.is_nested(schema.field(name).type):
            entry.problem(f"goes by '{name}', which is a {word_of(schema.field(name).type)}", "choose a part of it")


def check_added(entry: Entry, keys: pa.Schema, schema: pa.Schema, added: pa.Schema) -> None:
    """Notes what does not fit of a side table: keys the stream lacks or has as another type, attributes it has already.

    `keys`: the types of the table's keys, by the stream's names for them.
    """
    known = [key for key in keys if entry.has_attribute(key.name, schema, "on")]
    check_key_types(entry, [key.name for key in known], schema)
    for key in known:
        own = schema.field(key.name).type
        if not pa.types.is_nested(own) and key_family(own) != key_family(key.type) != "null":
            what = f"looks '{key.name}', a {word_of(own)}, up in a key of its table that is a {word_of(key.type)}"
            entry.problem(what, "cast one of them before")
    for name in added.names:
        if name in schema.names:
            entry.problem(f"adds '{name}' of its table, which its input has already", "rename it, or leave it out")
    check_origin(entry, [*schema.names, *added.names])


def check_origin(entry: Entry, names: Sequence[str]) -> None:
    """Notes an attribute with the name of the column in which functions on blocks tell where a row came from."""
    if ORIGIN in names:
        entry.problem(f"has an attribute '{ORIGIN}', which tells where the rows of a block came from", "rename it")


def key_family(kind: pa.DataType) -> str:
    """Types whose values can be compared as keys."""
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
        return "text"
    return "number" if pa.types.is_integer(kind) or pa.types.is_floating(kind) else str(kind)


def sort_keys(entry: Entry, by: object, schema: pa.Schema) -> tuple[SortKey, ...]:
    """What 'price desc' or ['price', 'name asc'] means; what is wrong is noted and left out."""
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
