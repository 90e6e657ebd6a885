"""Kinds of types: what an Arrow type is to the expression language, and which type several of them meet in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal as Choice

import pyarrow as pa

from penstock.block.schema import word_of

Kind = Choice["unknown", "boolean", "integer", "float", "text", "timestamp", "list"]


def kind_of(type_: pa.DataType) -> Kind:
    """The kind of a type; symbols are text, and the null type (a bare null, an attribute not typed yet) is unknown."""
    types = pa.types
    if types.is_null(type_):
        return "unknown"
    if types.is_boolean(type_):
        return "boolean"
    if types.is_integer(type_):
        return "integer"
    if types.is_floating(type_):
        return "float"
    if types.is_timestamp(type_):
        return "timestamp"
    return "list" if types.is_list(type_) or types.is_large_list(type_) else "text"


def is_number(type_: pa.DataType) -> bool:
    return kind_of(type_) in ("integer", "float")


def computed(type_: pa.DataType) -> pa.DataType:
    """The type that arithmetic gives for an operand: int64 or float64; other kinds stay, text becomes a string."""
    widened = {"integer": pa.int64(), "float": pa.float64(), "text": pa.string()}
    return widened.get(kind_of(type_), type_)


def common_type(types: Iterable[pa.DataType]) -> pa.DataType | None:
    """The type in which values of these types meet (unknown ones fit anywhere), or None where they do not."""
    known = [computed(t) for t in types if kind_of(t) != "unknown"]
    if not known:
        return pa.null()
    if all(is_number(t) for t in known):
        return pa.float64() if any(kind_of(t) == "float" for t in known) else pa.int64()
    return known[0] if all(t == known[0] for t in known) else None


def article_and_word(type_: pa.DataType) -> str:
    """'a string', 'an int64': how sentences name a type."""
    word = "null" if kind_of(type_) == "unknown" else word_of(type_)
    return f"{'an' if word[0] in 'aeio' else 'a'} {word}"
