"""Arrow arrays in another type; what does not convert becomes null, so that one bad value costs only its row."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_LARGE_BYTES = 1 << 31  # of texts, more than the offsets of `string` reach
_MAY_BE_NUMBER = r"^\s*[-+.0-9nNiI]"  # digits, NaN and infinities
_WITH_ZONE = r":\d\d.*(Z|[+-]\d\d(:?\d\d)?)$"


def converted(values: pa.Array | pa.ChunkedArray, type_: pa.DataType) -> pa.Array:
    """The values as a type; what does not convert is null."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.unify_dictionaries().chunks)
    array = _without_views(array)
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


def _without_views(array: pa.Array) -> pa.Array:
    """Texts that are views into buffers, as Polars gives them, as Arrow's plain ones: few functions take views."""
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string() if array.nbytes >= _LARGE_BYTES else pa.string())
    if pa.types.is_dictionary(array.type) and pa.types.is_string_view(array.type.value_type):
        return pa.DictionaryArray.from_arrays(array.indices, _without_views(array.dictionary))
    return array


def _one_by_one(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Distinct values tried in ever smaller runs; few do not convert."""
    if pa.types.is_nested(array.type):
        return _tried(array, type_)
    words = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    if _is_text(words.dictionary.type) and pa.types.is_timestamp(type_) and type_.tz is None:
        return _moments(words.dictionary, type_).take(words.indices)
    return _tried(_without_words(words.dictionary, type_), type_).take(words.indices)


def _moments(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    """Those that name a zone, as in 2024-01-31T12:00:00+02:00 or with a Z, are taken to UTC; others are UTC."""
    has_zone = pc.match_substring_regex(texts, _WITH_ZONE)
    nothing = pa.scalar(None, texts.type)
    zoned = _tried(pc.if_else(has_zone, texts, nothing), pa.timestamp(type_.unit, "UTC")).cast(type_)
    return pc.coalesce(zoned, _tried(pc.if_else(has_zone, nothing, texts), type_))


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _without_words(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Texts that begin as no number does are null at once: to try one takes microseconds."""
    is_number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
    if not _is_text(array.type) or not is_number:
        return array
    return pc.if_else(pc.match_substring_regex(array, _MAY_BE_NUMBER), array, pa.scalar(None, array.type))


def _tried(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The values; runs that convert do so at once, others are halved."""
    parts, runs = [], [array]
    while runs:
        run = runs.pop()
        try:
            parts.append(_alone(run).cast(type_))
        except pa.ArrowInvalid:
            if len(run) == 1:
                parts.append(pa.nulls(1, type_))
            else:
                half = len(run) // 2
                runs += [run.slice(half), run.slice(0, half)]
    return pa.concat_arrays(parts)


def _alone(run: pa.Array) -> pa.Array:
    """A run of lists without the values of lists beside it: Arrow's cast takes those for the run's own."""
    return pa.concat_arrays([run]) if pa.types.is_nested(run.type) else run
