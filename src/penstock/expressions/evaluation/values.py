"""Values between the steps of an evaluation: columns, or constants that stand for columns."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from penstock.block.column import Array, ArrowColumn, CodedColumn, Column, FixedColumn, Mask, column_of, numpy_type
from penstock.expressions.kinds import kind_of
from penstock.expressions.tree import Literal

# A FixedColumn may hold one numpy value instead of an array, a text or list constant is an Arrow scalar.
Value: TypeAlias = "FixedColumn | CodedColumn | ArrowColumn | pa.Scalar"


def constant(literal: Literal) -> Value:
    """A literal as a value for every row."""
    kind = kind_of(literal.type)
    if kind == "unknown":
        return FixedColumn(_one(False, np.bool_), literal.type, _one(False, np.bool_))
    if kind == "text":
        return pa.scalar(literal.value, pa.string())
    if literal.value is None:
        return FixedColumn(_one(0, numpy_type(literal.type)), literal.type, _one(False, np.bool_))
    return FixedColumn(_one(literal.value, numpy_type(literal.type)), literal.type)


def operand(value: Value, word: str) -> tuple[Array, Mask | None]:
    """A fixed-width value as int64, float64 or bool, and its validity; integers wrap."""
    assert isinstance(value, FixedColumn)
    values = value.values
    if values.dtype == np.uint64:  # read as int64 everywhere, on its way to float64 too
        values = values.view(np.int64)
    return values.astype(word, copy=False), value.valid


def both(first: Mask | None, second: Mask | None) -> Mask | None:
    """Where both are valid."""
    if first is None:
        return second
    return first if second is None else first & second


def stored_type(type_: pa.DataType) -> np.dtype[Any]:
    """The numpy type of a fixed-width type; an untyped null is kept as a boolean."""
    return np.dtype(np.bool_) if kind_of(type_) == "unknown" else numpy_type(type_)


def is_null_type(value: Value) -> bool:
    return isinstance(value, FixedColumn) and kind_of(value.type) == "unknown"


def arrow_of(value: Value, type_: pa.DataType) -> pa.Array | pa.Scalar:
    """A text or list value for Arrow's functions; symbols become strings, an untyped null a null of `type_`."""
    if isinstance(value, CodedColumn):
        return value.dictionary.take(_arrow_codes(value))
    if isinstance(value, ArrowColumn):
        return value.array if value.array.type == type_ else value.array.cast(type_)
    if is_null_type(value):
        return pa.scalar(None, type_)
    return value


def array_of(value: Value, type_: pa.DataType, rows: int) -> pa.Array:
    """The same, never a scalar."""
    found = arrow_of(value, type_)
    if isinstance(found, pa.Scalar):
        return pa.nulls(rows, type_) if not found.is_valid else pa.repeat(found, rows)
    return found


def fixed_of(found: pa.Array | pa.ChunkedArray | pa.Scalar, type_: pa.DataType) -> FixedColumn:
    """Numbers or booleans that an Arrow function gave."""
    if isinstance(found, pa.Scalar):
        column = column_of(pa.array([found.as_py()], found.type), type_)
        assert isinstance(column, FixedColumn)
        return FixedColumn(
            column.values[0:1].reshape(()), type_, None if column.valid is None else column.valid.reshape(())
        )
    column = column_of(found, type_)
    assert isinstance(column, FixedColumn)
    return column


def finished(value: Value, type_: pa.DataType, rows: int) -> Column:
    """A value as a column of its type: constants spread over all rows, zeros under nulls, no mask without nulls."""
    if isinstance(value, FixedColumn):
        return _finished_fixed(value, type_, rows)
    if isinstance(value, pa.Scalar):
        return column_of(array_of(value, value.type, rows), type_)
    if value.type != type_ and isinstance(value, ArrowColumn):
        return column_of(value.array, type_)
    if value.type != type_:
        return ArrowColumn(array_of(value, type_, rows))
    return value


def _finished_fixed(value: FixedColumn, type_: pa.DataType, rows: int) -> Column:
    if is_null_type(value):
        return _all_null(type_, rows)
    values, valid = value.values.astype(numpy_type(type_), copy=False), value.valid
    if valid is not None:
        valid = None if valid.all() else np.broadcast_to(valid, (rows,))
    if valid is not None:
        # under a null there is always 0, so that equal results have equal bytes
        values = np.where(valid, values, np.zeros((), values.dtype))
    if values.ndim == 0:
        values = np.full(rows, values)
    return FixedColumn(values, type_, valid)


def _all_null(type_: pa.DataType, rows: int) -> Column:
    known = pa.bool_() if kind_of(type_) == "unknown" else type_
    return column_of(pa.nulls(rows, known), known)


def truth(value: Value) -> Mask:
    """Where a condition is true: neither false nor null."""
    values, valid = operand(value, "bool")
    found: Mask = values if valid is None else values & valid
    return found


def _arrow_codes(column: CodedColumn) -> pa.Array:
    mask = None if column.valid is None else ~column.valid
    return pa.array(column.codes, mask=mask)


def _one(value: Any, dtype: Any) -> Array:
    return np.array(value, dtype)
