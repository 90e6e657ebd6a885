"""List evaluation: elements, lengths and reductions of list columns, by their offsets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.block.column import Array, ArrowColumn, FixedColumn, Mask, column_of
from penstock.expressions.evaluation.lowering import is_fixed_width
from penstock.expressions.evaluation.text import Evaluation, Operands
from penstock.expressions.evaluation.values import Value, array_of, both, finished, fixed_of, is_null_type
from penstock.expressions.kinds import computed
from penstock.kernels.text import list_reductions


def _lists(call: Operands) -> tuple[pa.ListArray, Array, Mask | None]:
    """The lists of a call's first argument, their offsets and which are not null."""
    column = ArrowColumn(array_of(call.values[0], call.node.arguments[0].type, call.rows))
    return column.array, np.asarray(column.array.offsets), column.valid


def _length(call: Operands) -> Value:
    return fixed_of(pc.list_value_length(_lists(call)[0]), pa.int64())


def _element(call: Operands) -> Value:
    lists, offsets, valid = _lists(call)
    place, place_valid = call.integers(1)
    inside = (place >= 1) & (place <= np.diff(offsets))
    inside = inside if (known := both(valid, place_valid)) is None else inside & known
    rows = np.where(inside, offsets[:-1] + np.where(inside, place, 1) - 1, 0)
    found = lists.values.take(pa.array(rows, mask=~inside))
    return column_of(found, computed(found.type))


def _contains(call: Operands) -> Value:
    """Whether a value occurs; null elements equal nothing, a null list or value gives null."""
    lists, offsets, valid = _lists(call)
    elements = lists.values
    owner = np.repeat(np.arange(call.rows), np.diff(offsets))
    flat = elements.slice(offsets[0], offsets[-1] - offsets[0])
    wanted = _spread(call)
    equal = pc.equal(_comparable(flat), wanted.take(pa.array(owner))).fill_null(False)
    counts = np.concatenate(([0], np.cumsum(np.asarray(equal.to_numpy(zero_copy_only=False), np.int64))))
    starts = offsets - offsets[0]
    found = counts[starts[1:]] > counts[starts[:-1]]
    return FixedColumn(found, pa.bool_(), both(valid, ArrowColumn(wanted).valid))


def _spread(call: Operands) -> pa.Array:
    """The wanted value for every row, in the type it is compared in."""
    value, type_ = call.values[1], call.node.arguments[1].type
    if is_null_type(value):
        return pa.nulls(call.rows, computed(call.node.arguments[0].type.value_type))
    if is_fixed_width(type_):
        return finished(value, computed(type_), call.rows).to_arrow()
    return array_of(value, pa.string(), call.rows)


def _comparable(flat: pa.Array) -> pa.Array:
    return flat if flat.type == computed(flat.type) else flat.cast(computed(flat.type))


def _reduced(how: int) -> Evaluation:
    def evaluate(call: Operands) -> Value:
        lists, offsets, valid = _lists(call)
        elements = column_of(lists.values, computed(lists.values.type))
        assert isinstance(elements, FixedColumn)
        known = np.ones(len(elements), np.bool_) if elements.valid is None else elements.valid
        results, found = list_reductions.reduce_lists(offsets, elements.values, known, how)
        return FixedColumn(results, call.node.type, both(found, valid))

    return evaluate


def _split(call: Operands) -> Value:
    return ArrowColumn(pc.split_pattern(call.text(), call.literal(1)))


EVALUATIONS: Mapping[str, Evaluation] = {
    "list_length": _length,
    "element": _element,
    "list_contains": _contains,
    "list_sum": _reduced(list_reductions.SUM),
    "list_min": _reduced(list_reductions.LEAST),
    "list_max": _reduced(list_reductions.GREATEST),
    "split": _split,
}
