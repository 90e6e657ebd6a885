# mypy: disallow-untyped-calls=False, disallow-subclassing-any=False
"""A numba type for arrays that stay where they are: `rows[3].field`, `rows[3] = 1.5`, `table[2, 5]`, `len(rows)`.

An array of numba asks at each access whether the index is negative, and reads its address again after each value
that is stored anywhere.  Rows do neither: an index is at least 0, and the words of the table that say where rows are
do not change while a kernel runs, which the code tells the compiler.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, register_model

WORDS = 3  # of the table, for each array: address, length, second dimension
_ADDRESS, _LENGTH, _COLUMNS = range(WORDS)


class Rows(types.Type):
    """Values of one form, by one index or, where `is_table`, by two."""

    def __init__(self, form: Any, *, is_table: bool) -> None:
        self.form, self.is_table = form, is_table
        self.place = types.UniTuple(types.intp, 2) if is_table else types.intp
        super().__init__(name=f"Rows({form}, {is_table})")


@register_model(Rows)
class _RowsModel(models.StructModel):
    def __init__(self, manager: Any, rows: Rows) -> None:
        members = [("first", types.CPointer(rows.form)), ("length", types.intp), ("columns", types.intp)]
        super().__init__(manager, rows, members)


def rows_of(number: int, dtype: Any, *, is_table: bool = False) -> Any:
    """A function of kernels that takes the address of the table for the rows of one of its arrays."""
    rows = Rows(from_dtype(np.dtype(dtype)), is_table=is_table)

    @intrinsic
    def own_rows(typing_context: Any, table: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = builder.inttoptr(arguments[0], cgutils.intp_t.as_pointer())
            found = cgutils.create_struct_proxy(rows)(context, builder)
            address = _word(builder, words, WORDS * number + _ADDRESS)
            found.first = builder.inttoptr(address, context.get_value_type(types.CPointer(rows.form)))
            found.length = _word(builder, words, WORDS * number + _LENGTH)
            found.columns = _word(builder, words, WORDS * number + _COLUMNS)
            return found._getvalue()

        return rows(types.int64), generate

    return own_rows


def _word(builder: Any, words: Any, place: int) -> Any:
    loaded = builder.load(builder.gep(words, [cgutils.intp_t(place)]))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@infer_global(operator.getitem)
class _Reads(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        rows = args[0]
        return signature(rows.form, rows, rows.place) if isinstance(rows, Rows) else None


@infer_global(operator.setitem)
class _Writes(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        rows = args[0]
        return signature(types.none, rows, rows.place, rows.form) if isinstance(rows, Rows) else None


@infer_global(len)
class _Counts(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.intp, args[0]) if isinstance(args[0], Rows) else None


@lower_builtin(operator.getitem, Rows, types.Any)
def _read(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return context.unpack_value(builder, signature.args[0].form, _where(context, builder, signature, arguments))


@lower_builtin(operator.setitem, Rows, types.Any, types.Any)
def _write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    context.pack_value(builder, signature.args[0].form, arguments[2], _where(context, builder, signature, arguments))
    return context.get_dummy_value()


@lower_builtin(len, Rows)
def _length(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0]).length


def _where(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0])
    place = arguments[1]
    if signature.args[0].is_table:
        row, column = cgutils.unpack_tuple(builder, place, 2)
        place = builder.add(builder.mul(row, rows.columns), column)
    return builder.gep(rows.first, [place])
