"""Arrow arrays in another type; what does not convert becomes null, so that one bad value costs only its row."""

from __future__ import annotations

import pyarrow as pa


def converted(values: pa.Array | pa.ChunkedArray, type_: pa.DataType) -> pa.Array:
    """The values as a type; what does not convert is null."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.unify_dictionaries().chunks)
    if array.type == type_:
        return array
    if pa.types.is_dictionary(type_) and pa.types.is_string(array.type):
        return array.dictionary_encode().cast(type_)
    try:
        return array.cast(type_)
    except pa.ArrowNotImplementedError:  # no text is a list, for example
        return pa.nulls(len(array), type_)
    except pa.ArrowInvalid:
        return _one_by_one(array, type_)


def _one_by_one(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Distinct values tried each on its own; few do not convert."""
    if pa.types.is_nested(array.type):
        return _tried(array, type_)
    words = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    return _tried(words.dictionary, type_).take(words.indices)


def _tried(array: pa.Array, type_: pa.DataType) -> pa.Array:
    values = []
    for value in array:
        try:
            values.append(value.cast(type_).as_py())
        except pa.ArrowInvalid:
            values.append(None)
    return pa.array(values, type_)
