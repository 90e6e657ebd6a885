"""Schemas: names and Arrow types, read from the short words users write."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from penstock.arguments import shown
from penstock.errors import InputError, did_you_mean

SYMBOL = pa.dictionary(pa.int32(), pa.string())
TIMESTAMP = pa.timestamp("us")

_TYPE_BY_WORD: dict[str, pa.DataType] = {
    "string": pa.string(),
    "symbol": SYMBOL,
    "dictionary<string>": SYMBOL,
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "timestamp": TIMESTAMP,
}

_WORD_ELSEWHERE = {  # what a type is called in Python, SQL or Spark
    **dict.fromkeys(("int", "integer", "long", "bigint"), "int64"),
    **dict.fromkeys(("float", "double", "real"), "float64"),
    **dict.fromkeys(("str", "text", "varchar"), "string"),
    **dict.fromkeys(("boolean",), "bool"),
    **dict.fromkeys(("datetime", "date"), "timestamp"),
}


def type_of(word: str | pa.DataType) -> pa.DataType:
    """The Arrow type behind a word such as 'float64', 'symbol' (a dictionary-coded string) or 'list<string>'."""
    if isinstance(word, pa.DataType):
        return type_of(word_of(word))
    if not isinstance(word, str):
        instead = _word_like(word.__name__) if isinstance(word, type) else None
        end = f"; write '{instead}'" if instead else ""
        raise InputError(f"a type is a word such as 'int64', or a pyarrow.DataType; got {shown(word)}{end}")
    text = word.strip()
    if text.startswith("list<") and text.endswith(">"):
        return pa.list_(type_of(text[5:-1]))
    if text in _TYPE_BY_WORD:
        return _TYPE_BY_WORD[text]
    likely = _word_like(text)
    hint = f"did you mean '{likely}'?" if likely else did_you_mean(text, _TYPE_BY_WORD)
    raise InputError(
        f"there is no type '{word}'; there are: {', '.join(_TYPE_BY_WORD)}, list<...>" + (f"; {hint}" if hint else "")
    )


def _word_like(name: str) -> str | None:
    """The word for a type by its name in another language."""
    return "bool" if name == "bool" else _WORD_ELSEWHERE.get(name.lower())


def word_of(type_: pa.DataType) -> str:
    """The word for an Arrow type; the inverse of `type_of` on its results."""
    if pa.types.is_dictionary(type_):
        return "symbol"
    if pa.types.is_timestamp(type_):
        return "timestamp"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"list<{word_of(type_.value_type)}>"
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return "string"
    return {"double": "float64", "float": "float32"}.get(str(type_), str(type_))


def schema_of(attributes: Mapping[str, str | pa.DataType] | pa.Schema) -> pa.Schema:
    """An Arrow schema from names and type words; 'float64 not null' forbids nulls."""
    if isinstance(attributes, pa.Schema):
        return pa.schema([pa.field(f.name, type_of(f.type), f.nullable) for f in attributes])
    fields = []
    for name, word in attributes.items():
        nullable = True
        if isinstance(word, str) and word.endswith(" not null"):
            word, nullable = word.removesuffix(" not null"), False
        fields.append(pa.field(name, type_of(word), nullable))
    return pa.schema(fields)


def words_of(schema: pa.Schema) -> dict[str, str]:
    """Names and type words of a schema, as `schema_of` reads them."""
    return {f.name: word_of(f.type) + ("" if f.nullable else " not null") for f in schema}
