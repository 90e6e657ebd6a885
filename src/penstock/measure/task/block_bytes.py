"""How many bytes the tuples of a block take."""

from __future__ import annotations

import pyarrow as pa

from penstock.block.block import Block
from penstock.block.column import numpy_type


def block_bytes(block: Block) -> int:
    """The size of a block's columns; what many blocks share, such as dictionaries, does not count."""
    fixed_bytes, others = _widths(block.schema)
    size_bytes = fixed_bytes * block.rows
    for place in others:
        size_bytes += block.columns[place].nbytes
    return size_bytes


_widths_by_schema: dict[int, tuple[pa.Schema, tuple[int, tuple[int, ...]]]] = {}


def _widths(schema: pa.Schema) -> tuple[int, tuple[int, ...]]:
    """Bytes of a tuple's fixed-width attributes, and the places of the others; comparing schemas would be slower."""
    known = _widths_by_schema.get(id(schema))
    if known is None or known[0] is not schema:
        types = [field.type for field in schema]
        others = tuple(i for i, own in enumerate(types) if not (pa.types.is_primitive(own) or _is_coded(own)))
        fixed = sum(4 if _is_coded(own) else numpy_type(own).itemsize for i, own in enumerate(types) if i not in others)
        known = _widths_by_schema[id(schema)] = (schema, (fixed, others))
    return known[1]


def _is_coded(type_: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(type_))
