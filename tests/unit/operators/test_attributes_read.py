"""The attributes that functions read of their row: those that the code names, or any where it does more with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.element.evaluation import evaluate
from penstock.operators.attributes_read import attributes_read, method_attributes_read

ROW = {"a": 1, "b": 2, "c": {"a": 3}, "row": 4}
FACTOR = 2


def total(row: dict[str, Any]) -> dict[str, Any]:
    return {"x": row["a"] * FACTOR if row["b"] else -row["a"]}


def within(row: dict[str, Any]) -> Any:
    found = 0
    for _ in range(3):
        try:
            found += row["c"]["a"]
        except KeyError:
            found -= row["b"]
    return {"x": found}


class Keyed:
    def process(self, row: dict[str, Any], state: list[int]) -> dict[str, Any]:
        state[0] += row["b"]
        return {"x": state[0]}


def changing(row: dict[str, Any]) -> dict[str, Any]:
    row["a"] += 1
    return row


def passing(row: dict[str, Any]) -> Any:
    return total(row)


def by_variable(row: dict[str, Any]) -> Any:
    return [row[name] for name in ("a", "b")]


def closing(row: dict[str, Any]) -> Any:
    return next(row["a"] for _ in range(1))


def naming_locals(row: dict[str, Any]) -> Any:
    return {"x": row["a"], "all": len(locals())}


def replacing(row: dict[str, Any]) -> Any:
    row = row["c"]
    return row["a"]


def unpacking(row: dict[str, Any]) -> Any:
    return {"x": row["a"], **row}


def swapping(row: dict[str, Any]) -> Any:
    other = {"a": 5}
    row, other = other, row
    return {"x": row["a"], "y": len(other)}


def together(row: dict[str, Any]) -> Any:
    known = {"b": 1}
    return {"x": row == known, "y": row["a"]}


@wraps(total)
def wrapped(*args: Any) -> Any:
    return total(*args)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (total, {"a", "b"}),
        (within, {"b", "c"}),
        (lambda row: row["row"], None),  # a text that is the row's own name is as good as the row
        (lambda row: {"x": 1}, set()),
        (lambda row: {"x": row["a" if FACTOR else "b"]}, None),
        (lambda row: (row if FACTOR else ROW)["a"], None),
    ],
)
def test_functions_that_only_name_attributes(function: Callable[..., Any], expected: set[str] | None) -> None:
    assert attributes_read(function) == expected


def test_a_method_reads_of_what_comes_behind_self() -> None:
    assert attributes_read(Keyed().process) == {"b"}


def test_a_method_that_its_class_may_replace_may_read_anything() -> None:
    class Switching:
        def process(self, row: dict[str, Any], state: Any) -> Any:
            self.process = self.later  # type: ignore[method-assign]
            return {"x": row["a"]}

        def later(self, row: dict[str, Any], state: Any) -> Any:
            return {"x": row["b"]}

    assert method_attributes_read(Switching(), "process") is None
    assert method_attributes_read(Keyed(), "process") == {"b"}


@pytest.mark.parametrize(
    "function",
    [changing, passing, by_variable, closing, naming_locals, replacing, unpacking, swapping, together, wrapped,
     partial(total), dict, len, Keyed],
)  # fmt: skip
def test_whoever_does_more_with_its_row_may_read_anything(function: Callable[..., Any]) -> None:
    assert attributes_read(function) is None


@pytest.mark.parametrize("function", [total, within])
def test_a_row_of_those_attributes_gives_the_same(function: Callable[[dict[str, Any]], Any]) -> None:
    read = attributes_read(function)
    assert read is not None
    assert function({name: ROW[name] for name in read}) == function(dict(ROW))


def test_a_letter_has_the_attributes_that_were_not_read_too() -> None:
    app = ps.Application("own")
    source = app.source("numbers", schema={"a": "int64", "b": "int64"})
    source.map("ratio", lambda row: {"x": 6 // row["b"]}, {"x": "int64"}, per_tuple=True).sink("out")
    result = evaluate(app, {"numbers": pa.table({"a": [7, 8], "b": [2, 0]})})
    assert result["out"].to_pylist() == [{"x": 3}]
    assert result.dead_letters.column("row").to_pylist() == ['{"a": 8, "b": 0}']
