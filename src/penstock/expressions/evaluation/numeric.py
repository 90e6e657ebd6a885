"""Numeric evaluation: logic, choices and forms over numpy arrays with explicit validity (three-valued logic)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from penstock.block.column import FixedColumn, Mask
from penstock.expressions.check import Typed
from penstock.expressions.evaluation.forms import Form, form_of, word_of_computation
from penstock.expressions.evaluation.values import Value, both, operand, stored_type, truth
from penstock.expressions.tree import Call
from penstock.kernels.codegen import elementwise

Visit = Callable[[Typed], Value]


def numeric(node: Typed, visit: Visit, form: Form | None) -> FixedColumn:
    """The value of a call of fixed width; `visit` evaluates its arguments."""
    assert isinstance(node.node, Call)
    special = _SPECIAL.get(node.node.function)
    if special is not None:
        return special(node, visit)
    assert form is not None, f"{node.node.function} has no numeric form"
    values, valid = [], None
    for argument, word in zip(node.arguments, form.operands, strict=True):
        if not word:
            values.append(np.zeros(()))
            continue
        value, is_valid = operand(visit(argument), word)
        values.append(value)
        valid = both(valid, is_valid)
    if form.valid is not None:
        valid = both(valid, np.asarray(form.valid(*values)))
    return FixedColumn(np.asarray(form.apply(*values)).astype(stored_type(node.type), copy=False), node.type, valid)


def form_if_any(node: Typed) -> Form | None:
    """The form of a call, None for logic and choices."""
    assert isinstance(node.node, Call)
    return None if node.node.function in _SPECIAL else form_of(node)


def is_null(value: Value) -> FixedColumn:
    """Whether a value is null, row by row."""
    if isinstance(value, pa.Scalar):
        return FixedColumn(np.asarray(not value.is_valid), pa.bool_())
    valid = value.valid
    missing = np.zeros(np.shape(value.values) if isinstance(value, FixedColumn) else len(value), np.bool_)
    return FixedColumn(missing if valid is None else np.asarray(~valid), pa.bool_())


def _and(node: Typed, visit: Visit) -> FixedColumn:
    (a, a_valid), (b, b_valid) = (operand(visit(argument), "bool") for argument in node.arguments)
    return FixedColumn(np.asarray(a & b), pa.bool_(), _known(a_valid, b_valid, ~a, ~b))


def _or(node: Typed, visit: Visit) -> FixedColumn:
    (a, a_valid), (b, b_valid) = (operand(visit(argument), "bool") for argument in node.arguments)
    return FixedColumn(np.asarray(a | b), pa.bool_(), _known(a_valid, b_valid, a, b))


def _known(a_valid: Mask | None, b_valid: Mask | None, a_decides: Mask, b_decides: Mask) -> Mask | None:
    """Known where both are, or where one that is known decides alone."""
    if a_valid is None and b_valid is None:
        return None
    first = np.True_ if a_valid is None else a_valid
    second = np.True_ if b_valid is None else b_valid
    return np.asarray((first & second) | (first & a_decides) | (second & b_decides))


def _is_null(node: Typed, visit: Visit) -> FixedColumn:
    return is_null(visit(node.arguments[0]))


def _case(node: Typed, visit: Visit) -> FixedColumn:
    word = word_of_computation(node.type)
    values, valid = operand(visit(node.arguments[-1]), word)
    pairs = zip(node.arguments[-3::-2], node.arguments[-2::-2], strict=True)
    for condition, alternative in pairs:
        chosen = truth(visit(condition))
        other, other_valid = operand(visit(alternative), word)
        valid = _chosen_valid(chosen, other_valid, valid)
        values = np.where(chosen, other, values)
    return FixedColumn(np.asarray(values), node.type, valid)


def _chosen_valid(chosen: Mask, first: Mask | None, second: Mask | None) -> Mask | None:
    if first is None and second is None:
        return None
    return np.where(chosen, np.True_ if first is None else first, np.True_ if second is None else second)


def _coalesce(node: Typed, visit: Visit) -> FixedColumn:
    word = word_of_computation(node.type)
    values, valid = operand(visit(node.arguments[-1]), word)
    for argument in node.arguments[-2::-1]:
        other, other_valid = operand(visit(argument), word)
        if other_valid is None:
            values, valid = other, None
            continue
        values = np.where(other_valid, other, values)
        valid = None if valid is None else np.asarray(other_valid | valid)
    return FixedColumn(np.asarray(values), node.type, valid)


def _extreme(function: str) -> Callable[[Typed, Visit], FixedColumn]:
    """The smaller or larger of two; a null gives way to the other."""

    def evaluate(node: Typed, visit: Visit) -> FixedColumn:
        word = word_of_computation(node.type)
        (a, a_valid), (b, b_valid) = (operand(visit(argument), word) for argument in node.arguments)
        values = np.asarray(elementwise.ufunc(function, f"{word}({word}, {word})")(a, b))
        if a_valid is not None:
            values = np.where(a_valid, values, b)
        if b_valid is not None:
            values = np.where(b_valid, values, a)
        valid = None if a_valid is None or b_valid is None else np.asarray(a_valid | b_valid)
        return FixedColumn(values, node.type, valid)

    return evaluate


_SPECIAL: Mapping[str, Callable[[Typed, Visit], FixedColumn]] = {
    "and": _and,
    "or": _or,
    "is_null": _is_null,
    "case": _case,
    "coalesce": _coalesce,
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
}
