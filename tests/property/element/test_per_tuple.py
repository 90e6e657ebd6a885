"""Functions per tuple: results and dead letters of a block are those of its tuples, called and converted one by one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.element.evaluation import evaluate
from penstock.errors import OperatorError

OUT = {"x": "int64", "text": "string", "at": "timestamp"}
GOOD: list[Any] = [
    {"x": 1}, {"x": None, "text": "a"}, {"text": "b", "x": 2.0, "at": None, "more": 1}, None, [], [{"x": 3}, {"x": 4}],
]  # fmt: skip
BAD: list[Any] = [
    {"x": "no"}, {"x": 2**70}, {"text": 5}, [{"x": 1}, {"text": 1.5}], 7, "text", {"x": 1.5}, {"at": "now"},
    ZeroDivisionError("x"), {"texts": "a", "x": 1}, [{"x": 1}, {"X": 2}],
]  # fmt: skip


def outcome(values: list[int], answers: list[Any], *, fails: bool = False) -> tuple[Any, Any]:
    """Results and letters of tuples in one block, the i-th of which gets the answer i."""

    def function(row: dict[str, Any]) -> Any:
        answer = answers[row.pop("number")]  # a letter has the tuple as it came
        if isinstance(answer, Exception):
            raise answer
        return answer

    app = ps.Application("own")
    source = app.source("numbers", schema={"number": "int64", "value": "int64"})
    source.map("own", function, OUT, per_tuple=True).sink("out")
    table = pa.table({"number": range(len(values)), "value": values})
    result = evaluate(app, {"numbers": table}, on_error="fail" if fails else "dead_letter")
    return result["out"].to_pylist(), result.dead_letters.to_pylist()


def one_by_one(values: list[int], answers: list[Any]) -> tuple[list[Any], list[Any]]:
    """The reference: each tuple in a run of its own; letters name the tuple by its number."""
    results, letters = [], []
    for number, (value, answer) in enumerate(zip(values, answers, strict=True)):
        rows, own = outcome([value], [answer])
        results += rows
        letters += [{**letter, "row": letter["row"].replace('"number": 0', f'"number": {number}')} for letter in own]
    return results, letters


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([*GOOD, *BAD])), max_size=6))
def test_a_block_gives_what_its_tuples_give_one_by_one(tuples: list[tuple[int, Any]]) -> None:
    values, answers = [value for value, _ in tuples], [answer for _, answer in tuples]
    assert outcome(values, answers) == one_by_one(values, answers)


@given(st.lists(st.sampled_from(GOOD), max_size=3), st.sampled_from(BAD), st.lists(st.sampled_from(BAD), max_size=2))
def test_with_on_error_fail_the_first_tuple_that_fails_is_named(before: list[Any], bad: Any, more: list[Any]) -> None:
    answers = [*before, bad, *more]
    with pytest.raises(OperatorError, match=rf'"number": {len(before)}\b'):
        outcome([0] * len(answers), answers, fails=True)


def test_a_dict_that_the_function_goes_on_changing_is_taken_as_it_was() -> None:
    class Total:
        def state(self) -> dict[str, int]:
            return {"x": 0}

        def process(self, row: dict[str, Any], state: dict[str, int]) -> dict[str, int]:
            state["x"] += row["value"]
            return state

    app = ps.Application("totals")
    source = app.source("numbers", schema={"value": "int64"})
    source.operator("total", Total(), schema={"x": "int64"}).sink("out")
    assert evaluate(app, {"numbers": pa.table({"value": [1, 2, 3]})})["out"].column("x").to_pylist() == [1, 3, 6]


def test_a_null_that_the_schema_of_a_map_forbids_makes_a_dead_letter() -> None:
    reason = "gave a null for 'y', where its schema forbids it"
    wanted = [("own", reason, '{"x": null}')]

    def block(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch({"y": batch.column("x")})

    def twice(batch: pa.RecordBatch) -> pa.Table:
        values = batch.column("x").to_pylist()
        return pa.table(
            {"y": [v for x in values for v in (1, x)], "input_row": [r for r in range(len(values)) for _ in "12"]}
        )

    def poor(batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.num_rows > 1:
            raise ValueError("one at a time")
        return block(batch)

    def tuple_twice(row: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"y": 1}, {"y": row["x"]}]

    for function, per_tuple, values in (
        (block, False, [1, 3]), (poor, False, [1, 3]), (twice, False, [1, 1, 1, 3]),
        (lambda row: {"y": row["x"]}, True, [1, 3]), (tuple_twice, True, [1, 1, 1, 3]),
    ):  # fmt: skip
        app = ps.Application("nulls")
        source = app.source("numbers", schema={"x": "int64"})
        source.map("own", function, {"y": "int64 not null"}, per_tuple=per_tuple).sink("out")
        result = evaluate(app, {"numbers": {"x": [1, None, 3]}})
        assert result["out"]["y"].to_pylist() == values
        assert [tuple(letter.values()) for letter in result.dead_letters.to_pylist()] == wanted
        with pytest.raises(OperatorError, match=reason):
            evaluate(app, {"numbers": {"x": [1, None, 3]}}, on_error="fail")


def test_a_misspelt_key_makes_a_dead_letter_and_no_null() -> None:
    """As in `elastic_map`; a key too many beside all others is left out, as a column too many of a block is."""
    answers = [{"x": 1, "txet": "a", "at": None}, {"x": 2, "text": "b", "at": None, "more": 1}, {"x": 3}]
    results, letters = outcome([0, 1, 2], answers)
    assert results == [{"x": 2, "text": "b", "at": None}, {"x": 3, "text": None, "at": None}]
    (letter,) = letters
    assert letter["reason"].startswith(
        "failed with ValueError: must return no keys that the schema does not have; got 'txet'; it has: x, text, at; "
        "did you mean 'text'?"
    )
    with pytest.raises(OperatorError, match="did you mean 'text'"):
        outcome([0, 1, 2], answers, fails=True)


def test_a_misspelt_column_of_a_function_on_blocks_is_named() -> None:
    app = ps.Application("own")
    source = app.source("numbers", schema={"x": "int64"})
    source.map("own", lambda batch: {"yy": batch["x"]}, {"y": "int64"}).sink("out")
    (letter,) = evaluate(app, {"numbers": {"x": [1]}}).dead_letters.to_pylist()
    assert letter["reason"] == "failed with ValueError: must return a column 'y'; got: yy"
