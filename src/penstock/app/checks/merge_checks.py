"""Checks of operators that read several streams: join, union, barrier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from penstock.app.workbook import Entry
from penstock.block.schema import word_of
from penstock.expressions.check import Scope


class NamedStream(Protocol):
    """What a check needs of a stream."""

    name: str
    schema: pa.Schema


def join_scope(left: pa.Schema, right: pa.Schema) -> Scope:
    return Scope((("left", left), ("right", right)))


def join_keys(entry: Entry, on: object, left: pa.Schema, right: pa.Schema) -> tuple[tuple[str, str], ...]:
    """Pairs of attributes that must be equal."""
    if on is None:
        return ()
    items = (
        [on] if isinstance(on, str) or (isinstance(on, tuple) and len(on) == 2 and on[0] != on[1]) else list(_items(on))
    )
    pairs = []
    for item in items:
        one, other = item if isinstance(item, tuple) and len(item) == 2 else (item, item)
        known = [entry.has_attribute(one, left, "on (left)"), entry.has_attribute(other, right, "on (right)")]
        if all(known):
            _check_key_types(entry, str(one), str(other), left.field(one).type, right.field(other).type)
            pairs.append((str(one), str(other)))
    return tuple(pairs)


def _items(on: object) -> Sequence[object]:
    return on if isinstance(on, Sequence) else (on,)


def _check_key_types(entry: Entry, one: str, other: str, left: pa.DataType, right: pa.DataType) -> None:
    if _family(left) != _family(right) and "null" not in (_family(left), _family(right)):
        entry.problem(
            f"joins on '{one}' and '{other}', a {word_of(left)} and a {word_of(right)}", "cast one of them before"
        )


def _family(type_: pa.DataType) -> str:
    if pa.types.is_dictionary(type_) or pa.types.is_string(type_):
        return "text"
    return "integer" if pa.types.is_integer(type_) else str(type_)


def union_schema(entry: Entry, streams: Sequence[NamedStream]) -> pa.Schema:
    """The one schema of all streams of a union."""
    first = streams[0]
    if len(streams) < 2:
        entry.problem("merges streams and needs at least one more", "stream.union('name', other)")
    for other in streams[1:]:
        if other.schema != first.schema:
            entry.problem(
                f"merges '{first.name}' and '{other.name}', whose schemas differ: "
                f"{described(first.schema)} and {described(other.schema)}",
                "bring them to one schema with a functor",
            )
    return first.schema


def barrier_ports(entry: Entry, streams: Sequence[NamedStream]) -> tuple[tuple[str, ...], Scope]:
    """Port names (the streams' names, dots as underscores) and what expressions may read."""
    ports = tuple(stream.name.replace(".", "_") for stream in streams)
    if len(set(ports)) < len(ports) or len(ports) < 2:
        entry.problem(f"synchronises at least two different streams; got {', '.join(ports)}")
    return ports, Scope(tuple(zip(ports, (s.schema for s in streams), strict=True)))


def described(schema: pa.Schema) -> str:
    """A schema as messages show it: (name type, ...)."""
    return "(" + ", ".join(f"{f.name} {word_of(f.type)}" for f in schema) + ")"
