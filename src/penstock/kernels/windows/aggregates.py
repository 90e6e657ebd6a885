"""Aggregates of a window: what users ask for, and the pieces of state (terms) that several of them share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penstock.errors import InputError

Function = Literal["count", "sum", "avg", "min", "max", "stddev", "first", "last"]
Kind = Literal["sum", "min", "max", "moments", "first", "nulls", "first_null"]
Number = Literal["f", "i", "u"]

FUNCTIONS: tuple[Function, ...] = ("count", "sum", "avg", "min", "max", "stddev", "first", "last")
KEEPS_TYPE: tuple[Function, ...] = ("min", "max", "first", "last")


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate of one column (by its place), or of whole tuples: count with no argument."""

    function: Function
    argument: int | None = None


@dataclass(frozen=True, slots=True)
class Term:
    """One piece of mergeable state kept of one column; its words are float64, or int64 ('u': unsigned bits in int64).

    The merge of a sum starts from -0.0, not 0.0: only that leaves every float as it is, -0.0 included, so that a null
    can stand for "nothing" without changing a bit of the others.  Moments are (count, mean, M2), with
    M2 = sum of (x - mean)^2.  `nulls` and `first_null` live beside the others, in an array that is all zero until the
    first null arrives.
    """

    kind: Kind
    column: int
    number: Number

    @property
    def words(self) -> int:
        return 3 if self.kind == "moments" else 1

    @property
    def about_nulls(self) -> bool:
        return self.kind in ("nulls", "first_null")

    @property
    def keeps_oldest(self) -> bool:
        """Whether a merge just keeps the older side."""
        return self.kind in ("first", "first_null")

    def unit(self, nullable: bool) -> tuple[str, ...]:
        """The words of a single tuple; `x` its value, `y` the value as float64, `z` whether it is null."""
        x, y, z = f"x{self.column}", f"y{self.column}", f"z{self.column}"
        if self.about_nulls:
            return (f"np.int64({z})",)
        if self.kind == "moments":
            return (f"(0.0 if {z} else 1.0)", f"(0.0 if {z} else {y})", "0.0") if nullable else ("1.0", y, "0.0")
        value = y if self.number == "f" else x
        return (f"({literal(self.nothing()[0])} if {z} else {value})",) if nullable else (value,)

    def merge(self, into: str, older: str, newer: str, nullable: bool) -> list[str]:
        """Statements that merge two groups of words, named by prefix, into a third (which may be one of the two)."""
        result, a, b = f"{into}_0", f"{older}_0", f"{newer}_0"
        if self.keeps_oldest:
            return [f"{result} = {a}"]
        if self.kind in ("sum", "nulls"):
            return [f"{result} = {a} + {b}"]
        if self.kind == "moments":
            return _merge_moments(into, older, newer, nullable)
        return self._merge_extremes(result, *((b, a) if into == newer else (a, b)))

    def _merge_extremes(self, result: str, current: str, other: str) -> list[str]:
        """Compares as one machine instruction does, which keeps `current` if it is NaN but not if `other` is."""
        left, right = (f"np.uint64({other})", f"np.uint64({current})") if self.number == "u" else (other, current)
        choice = [f"{result} = {other} if {left} {'<' if self.kind == 'min' else '>'} {right} else {current}"]
        return [*choice, f"if {other} != {other}:", f"    {result} = {other}"] if self.number == "f" else choice

    def nothing(self) -> tuple[int | float, ...]:
        """The words that leave any others as they are when merged."""
        if self.kind == "moments":
            return (0.0, 0.0, 0.0)
        if self.kind not in ("min", "max"):
            return (-0.0,) if self.number == "f" else (0,)
        if self.number == "f":
            return (math.inf,) if self.kind == "min" else (-math.inf,)
        if self.number == "u":
            return (-1,) if self.kind == "min" else (0,)
        return (2**63 - 1,) if self.kind == "min" else (-(2**63),)


def literal(value: float) -> str:
    """A number as kernel text."""
    return repr(value).replace("inf", "np.inf")


def number_of(type_: np.dtype[Any]) -> Number:
    """How a column's values are held: f float64, i int64, u the bits of a uint64 in an int64."""
    if type_.kind == "f":
        return "f"
    if type_.kind in "iub":
        return "u" if type_ == np.uint64 else "i"
    raise InputError(f"a window cannot aggregate values of the type {type_}; it takes numbers, booleans and timestamps")


def result_type(call: AggregateCall, types: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The numpy type of an aggregate's results."""
    if call.function == "count":
        return np.dtype(np.int64)
    column = _argument_type(call, types)
    if call.function in KEEPS_TYPE:
        return column
    if call.function == "sum" and column.kind != "f":
        return np.dtype(np.int64)
    return np.dtype(np.float64)


def sum_number(call: AggregateCall, type_: np.dtype[Any]) -> Number:
    """How the sum behind `sum` or `avg` is held; an average of 64-bit integers must not wrap, so it adds floats."""
    if type_.kind == "f" or (call.function == "avg" and type_.itemsize == 8):
        return "f"
    return "i"


def terms_of(calls: Sequence[AggregateCall], types: Sequence[np.dtype[Any]], nullable: bool) -> tuple[Term, ...]:
    """The distinct terms that the calls need together."""
    terms: list[Term] = []
    for call in calls:
        if call.argument is not None:
            terms += _terms_of_call(call, call.argument, types[call.argument], nullable)
    return tuple(dict.fromkeys(terms))


def check_calls(calls: Sequence[AggregateCall], types: Sequence[np.dtype[Any]]) -> None:
    """Refuses calls that no kernel can be made for."""
    for call in calls:
        if call.function not in FUNCTIONS:
            raise InputError(f"there is no aggregate '{call.function}'; there are: {', '.join(FUNCTIONS)}")
        if call.argument is not None or call.function != "count":
            number_of(_argument_type(call, types))


def _terms_of_call(call: AggregateCall, column: int, type_: np.dtype[Any], nullable: bool) -> list[Term]:
    number = number_of(type_)
    terms = [Term("nulls", column, "i")] if nullable else []
    if call.function in ("sum", "avg"):
        return [Term("sum", column, sum_number(call, type_)), *terms]
    if call.function == "min":
        return [Term("min", column, number), *terms]
    if call.function == "max":
        return [Term("max", column, number), *terms]
    if call.function == "stddev":
        return [Term("moments", column, "f")]
    if call.function == "first":
        return [Term("first", column, number), *([Term("first_null", column, "i")] if nullable else [])]
    return terms if call.function == "count" else []


def _argument_type(call: AggregateCall, types: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    if call.argument is None or not 0 <= call.argument < len(types):
        raise InputError(f"the aggregate '{call.function}' needs one of {len(types)} columns; got {call.argument}")
    return types[call.argument]


def _merge_moments(into: str, older: str, newer: str, nullable: bool) -> list[str]:
    # Chan, Golub, LeVeque: d = mean_b - mean_a;  mean = mean_a + d * n_b / n;  M2 = M2_a + M2_b + d^2 * n_a * n_b / n
    merge = [
        f"total = {older}_0 + {newer}_0",
        f"apart = {newer}_1 - {older}_1",
        f"share = {newer}_0 / total",
        f"{into}_2 = {older}_2 + {newer}_2 + apart * apart * {older}_0 * share",
        f"{into}_1 = {older}_1 + apart * share",
        f"{into}_0 = total",
    ]
    if not nullable:
        return merge
    take_newer = [f"{into}_{word} = {newer}_{word}" for word in range(3)]
    keep_older = [f"{into}_{word} = {older}_{word}" for word in range(3)]
    return [
        f"if {older}_0 == 0.0:",
        *("    " + line for line in take_newer),
        f"elif {newer}_0 == 0.0:",
        *("    " + line for line in keep_older),
        "else:",
        *("    " + line for line in merge),
    ]
