"""Evaluation of particular shapes of columns: symbols by dictionary, plain strings, constants, several inputs."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from penstock.block.block import Block
from penstock.block.column import ArrowColumn, CodedColumn, Column, FixedColumn, column_of
from penstock.block.schema import SYMBOL
from penstock.expressions import Scope, parse
from penstock.expressions.evaluation.environment import Environment, Key, TakenEnvironment, environment_of
from penstock.expressions.evaluation.evaluate import Evaluator, evaluate
from penstock.expressions.evaluation.text import equals_constant

WORDS = pa.array(["Trade", "Quote", "other"])


def symbols(codes: list[int | None]) -> CodedColumn:
    valid = np.array([code is not None for code in codes])
    return CodedColumn(np.array([code or 0 for code in codes], np.int32), WORDS, None if valid.all() else valid)


def environment(**columns: Column) -> Environment:
    named: dict[Key, Column] = {(None, name): column for name, column in columns.items()}
    return Environment(len(next(iter(columns.values()))), named)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("c = 'Quote'", [False, True, None, True]),
        ("'Quote' <> c", [True, False, None, False]),
        ("c = 'nowhere'", [False, False, None, False]),
        ("upper(c)", ["TRADE", "QUOTE", None, "QUOTE"]),
        ("length(c) + 1", [6, 6, None, 6]),
        ("coalesce(c, 'none')", ["Trade", "Quote", "none", "Quote"]),
        ("c is null", [False, False, True, False]),
        ("regex_match(c, '(T)(.*)')", [["T", "rade"], [], None, []]),
        ("c", ["Trade", "Quote", None, "Quote"]),
        ("cast(c as symbol)", ["Trade", "Quote", None, "Quote"]),
        ("cast(upper(c) as symbol)", ["TRADE", "QUOTE", None, "QUOTE"]),
    ],
)
def test_functions_of_a_symbol(text: str, values: list[object]) -> None:
    given = environment(c=symbols([0, 1, None, 1]))
    assert evaluate(parse(text), given).to_arrow().to_pylist() == values
    few = environment(c=symbols([0, 1, None, 1]).slice(0, 1))
    few.columns[None, "c"].dictionary = pa.array(["Trade"] + [f"w{i}" for i in range(99)])  # type: ignore
    assert evaluate(parse(text), few).to_arrow().to_pylist() == values[:1]


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 40])
def test_plain_strings_equal_a_constant(size: int) -> None:
    wanted = "abcdefghij" * 4
    texts = [wanted[:size], wanted[: size + 1], "x" * size, wanted[: max(size - 1, 0)] + "z", "", None]
    texts += [wanted[:place] + "#" + wanted[place + 1 : size] for place in range(size)]
    column = ArrowColumn(pa.array(["skip", *texts], pa.string()).slice(1))
    equal = equals_constant(column, wanted[:size])
    known = column.valid if column.valid is not None else np.ones(len(texts), np.bool_)
    assert [bool(e) for e, k in zip(equal.values, known, strict=True) if k] == [
        t == wanted[:size] for t in texts if t is not None
    ]


def test_constants_become_columns() -> None:
    given = environment(x=FixedColumn(np.zeros(3), pa.float64()))
    assert evaluate(parse("1 + 1"), given).to_arrow().to_pylist() == [2, 2, 2]
    assert evaluate(parse("'a' || 'b' = 'ab'"), given).to_arrow().to_pylist() == [True] * 3
    assert evaluate(parse("upper('a')"), given).to_arrow().to_pylist() == ["A"] * 3
    assert evaluate(parse("cast(null as float64)"), given).to_arrow().to_pylist() == [None] * 3
    assert evaluate(parse("coalesce(-(null) + null, x)"), given).to_arrow().to_pylist() == [0.0] * 3


def test_floats_as_text_are_as_short_as_they_can_be() -> None:
    given = environment(x=FixedColumn(np.array([1.0, 0.1, 1e20, np.nan, -np.inf]), pa.float64()))
    texts = evaluate(parse("to_string(x)"), given).to_arrow()
    assert texts.to_pylist() == ["1", "0.1", "1e+20", "nan", "-inf"]
    back = evaluate(parse("to_float(s)"), environment(s=column_of(texts)))
    assert str(back.to_arrow().to_pylist()) == "[1.0, 0.1, 1e+20, nan, -inf]"


def test_two_inputs_are_told_apart_by_their_port() -> None:
    left, right = (FixedColumn(np.array([v]), pa.int64()) for v in (1, 2))
    given = Environment(1, {("left", "id"): left, ("right", "id"): right})
    assert evaluate(parse("left.id * 10 + right.id"), given).to_arrow().to_pylist() == [12]
    with pytest.raises(KeyError, match="no column"):
        evaluate(parse("id"), given)


def test_sequence_numbers_follow_the_rows_taken() -> None:
    schema = pa.schema({"x": pa.int64()})
    given = environment_of(Block(schema, (FixedColumn(np.arange(4), pa.int64()),), 4), 100)
    taken = TakenEnvironment(given, np.array([1, 3]))
    assert evaluate(parse("seq_num() * 10 + x"), taken).to_arrow().to_pylist() == [1011, 1033]


def test_values_under_nulls_are_zero() -> None:
    column = evaluate(parse("x // 0"), environment(x=FixedColumn(np.array([7, 8]), pa.int64())))
    assert isinstance(column, FixedColumn)
    assert column.values.tolist() == [0, 0]
    assert column.valid is not None


def test_an_evaluator_is_pickled_as_what_it_was_made_of() -> None:
    evaluator = Evaluator(parse("upper(c)"), Scope(((None, pa.schema({"c": SYMBOL})),)))
    given = environment(c=symbols([0, 1]))
    assert evaluator.evaluate(given).to_arrow() == pickle.loads(pickle.dumps(evaluator)).evaluate(given).to_arrow()


def test_expressions_are_there_without_pandas() -> None:
    """Arrow imports it for its first array of Python values: a fifth of a second that `explain` does not need."""
    script = "import sys, penstock.operators.factory; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
