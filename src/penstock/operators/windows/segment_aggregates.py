"""Aggregate functions over columns whose windows are spelt out; the slow but general way."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.block.column import ArrowColumn, CodedColumn, Column, FixedColumn, column_of
from penstock.kernels.windows import segments

Integers = npt.NDArray[np.int64]


def aggregate_segments(function: str, column: Column, offsets: Integers) -> Column:
    """One value per segment of a column's rows."""
    return _FUNCTIONS[function](column, offsets)


def user_aggregate(
    function: Callable[[pa.Array], Any], column: Column, offsets: Integers, returns: pa.DataType
) -> tuple[Column, dict[int, Exception]]:
    """A user's function called once per segment, and what it raised for which of them (whose result is null)."""
    array, nothing = column.to_arrow(), pa.nulls(1, returns)
    results, failures = [pa.array([], returns)], {}
    for segment, (start, stop) in enumerate(itertools.pairwise(offsets)):
        try:
            results.append(pa.array([_plain(function(array.slice(start, stop - start)))], returns))
        except Exception as error:  # whatever a user's function raises concerns that output alone
            results.append(nothing)
            failures[segment] = error
    return column_of(pa.chunked_array(results)), failures


def _plain(value: Any) -> Any:
    return value.as_py() if isinstance(value, pa.Scalar) else value


def _valid(column: Column) -> npt.NDArray[np.bool_]:
    valid = column.valid
    return np.ones(len(column), np.bool_) if valid is None else valid


def _numbers(column: Column) -> npt.NDArray[Any]:
    if not isinstance(column, FixedColumn):
        raise TypeError(f"no numbers in a column of {column.type}")
    return column.values


def _count(column: Column, offsets: Integers) -> Column:
    return FixedColumn(segments.segment_count(_valid(column), offsets), pa.int64())


def _sum(column: Column, offsets: Integers) -> Column:
    values, valid = _numbers(column), _valid(column)
    floating = values.dtype.kind == "f"
    sums = np.zeros(len(offsets) - 1, np.float64 if floating else np.int64)
    segments.segment_sum(values.astype(sums.dtype, copy=False), valid, offsets, sums)
    return FixedColumn(sums, pa.float64() if floating else pa.int64(), _some(valid, offsets))


def _average(column: Column, offsets: Integers) -> Column:
    values, valid = _numbers(column), _valid(column)
    sums = np.zeros(len(offsets) - 1, np.float64)
    segments.segment_sum(values.astype(np.float64), valid, offsets, sums)
    counts = segments.segment_count(valid, offsets)
    return FixedColumn(sums / np.maximum(counts, 1), pa.float64(), _some(valid, offsets))


def _deviation(column: Column, offsets: Integers) -> Column:
    valid = _valid(column)
    enough = segments.segment_count(valid, offsets) >= 2
    values = segments.segment_deviation(_numbers(column).astype(np.float64), valid, offsets)
    return FixedColumn(values, pa.float64(), None if enough.all() else enough)


def _some(valid: npt.NDArray[np.bool_], offsets: Integers) -> npt.NDArray[np.bool_] | None:
    some = segments.segment_count(valid, offsets) > 0
    return None if some.all() else some


def _extreme(highest: bool) -> Callable[[Column, Integers], Column]:
    def extreme(column: Column, offsets: Integers) -> Column:
        found = segments.segment_extreme(_ranks(column), _valid(column), offsets, highest)
        return _take_or_null(column, found)

    return extreme


def _ranks(column: Column) -> npt.NDArray[Any]:
    """Numbers that compare as the column's values do."""
    if isinstance(column, FixedColumn):
        return column.values
    codes, words = _codes(column)
    order = pc.sort_indices(words).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    ranks: npt.NDArray[Any] = rank[codes] if len(rank) else np.zeros(len(codes), np.int64)
    return ranks


def _codes(column: Column) -> tuple[npt.NDArray[Any], pa.Array]:
    """Codes and dictionary of text, each word once; nulls have code 0."""
    if isinstance(column, CodedColumn):
        codes = column.codes if column.valid is None else np.where(column.valid, column.codes, 0)
        words = column.dictionary.dictionary_encode()
        if len(words.dictionary) < len(column.dictionary):  # Arrow lets a dictionary say a word twice
            codes = words.indices.to_numpy()[codes]
        return codes, words.dictionary
    encoded = column.to_arrow().dictionary_encode()
    return encoded.indices.fill_null(0).to_numpy(), encoded.dictionary


def _take_or_null(column: Column, rows: Integers) -> Column:
    if not len(rows):
        return column.slice(0, 0)
    if (rows >= 0).all():
        return column.take(rows)
    if isinstance(column, ArrowColumn):
        return ArrowColumn(column.array.take(pa.array(rows, mask=rows < 0)))
    taken = column.take(np.maximum(rows, 0))
    valid = (rows >= 0) & _valid(taken)
    return (
        FixedColumn(taken.values, taken.type, valid)
        if isinstance(taken, FixedColumn)
        else CodedColumn(taken.codes, taken.dictionary, valid)
    )


def _first(column: Column, offsets: Integers) -> Column:
    return column.take(offsets[:-1])


def _last(column: Column, offsets: Integers) -> Column:
    return column.take(offsets[1:] - 1)


def _distinct(column: Column, offsets: Integers) -> Column:
    if isinstance(column, FixedColumn):
        words, codes = np.unique(column.values, return_inverse=True)
        number = len(words)
    else:
        codes, dictionary = _codes(column)
        number = len(dictionary)
    return FixedColumn(segments.segment_distinct(codes, _valid(column), offsets, number), pa.int64())


def _collect(column: Column, offsets: Integers) -> Column:
    values = column.to_arrow()
    if pa.types.is_dictionary(values.type):
        values = values.cast(pa.string())
    return ArrowColumn(pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values))


_FUNCTIONS: dict[str, Callable[[Column, Integers], Column]] = {
    "count": _count,
    "sum": _sum,
    "avg": _average,
    "stddev": _deviation,
    "min": _extreme(False),
    "max": _extreme(True),
    "any": _first,
    "first": _first,
    "last": _last,
    "count_distinct": _distinct,
    "collect": _collect,
}
