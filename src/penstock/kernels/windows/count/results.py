"""The text that turns a window's terms into the results of its aggregates."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.kernels.windows.aggregates import AggregateCall, Kind, Number, Term, sum_number
from penstock.kernels.windows.count.shape import Shape


def indent(lines: Iterable[str], depth: int = 1) -> list[str]:
    return ["    " * depth + line for line in lines]


def is_masked(call: AggregateCall, nullable: bool) -> bool:
    """Whether an aggregate's results come with a mask of valid ones."""
    return call.function == "stddev" or (nullable and call.function != "count")


def results(shape: Shape, name: str, place: str) -> list[str]:
    """Statements that write all results at a place, from the terms named `name` and the number of tuples `held`."""
    lines = []
    for index, call in enumerate(shape.calls):
        lines.append(f"o{index}[{place}] = {_value(shape, call, name)}")
        if is_masked(call, shape.nullable):
            lines.append(f"r{index}[{place}] = {_mask(shape, call, name)}")
    return lines


def _value(shape: Shape, call: AggregateCall, name: str) -> str:
    column = call.argument
    if column is None:
        return "held"
    if call.function == "last":
        return f"x{column}"
    if call.function == "count":
        return _count(shape, column, name)
    if call.function == "sum" or call.function == "avg":  # mypy narrows only this form
        total = _word(shape, name, "sum", column, sum_number(call, shape.types[column]))
        return total if call.function == "sum" else f"np.float64({total}) / np.float64({_count(shape, column, name)})"
    if call.function == "stddev":
        count, mean, squares = (_word(shape, name, "moments", column, "f", word) for word in range(3))
        # The last summand is zero, or NaN where the window holds an infinity.
        return f"np.sqrt({squares} / ({count} - 1.0)) + ({mean} - {mean})"
    return _word(shape, name, call.function, column, shape.number(column))


def _mask(shape: Shape, call: AggregateCall, name: str) -> str:
    column = call.argument
    assert column is not None
    if call.function == "last":
        return f"not z{column}"
    if call.function == "first":
        return f"{_word(shape, name, 'first_null', column, 'i')} == 0"
    if call.function == "stddev":
        return f"{_word(shape, name, 'moments', column, 'f')} > 1.5"
    return f"{_count(shape, column, name)} > 0"


def _count(shape: Shape, column: int, name: str) -> str:
    return f"(held - {_word(shape, name, 'nulls', column, 'i')})" if shape.nullable else "held"


def _word(shape: Shape, name: str, kind: Kind, column: int, number: Number, word: int = 0) -> str:
    return f"{name}{shape.terms.index(Term(kind, column, number))}_{word}"
