"""What is wrong with the parameters of `elastic_map` is told at once, in one sentence each."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import types as st

import penstock as ps

SCHEMA = st.StructType([st.StructField("id", st.LongType())])


def problems(schema: Any = SCHEMA, **options: Any) -> list[str]:
    """Without a DataFrame, which is one problem more."""
    with pytest.raises(ps.errors.InputError) as raised:
        ps.elastic_map(None, print, schema, **options)  # type: ignore[arg-type]
    first, *others = str(raised.value).removeprefix("elastic_map: ").split("\nelastic_map: ")
    assert first == "df is a Spark DataFrame; got NoneType"
    return others


def struct(*names: str) -> st.StructType:
    return st.StructType([st.StructField(name, st.LongType()) for name in names])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"timeout_s": "5"}, "timeout_s is a number above 0, or None; got '5'"),
        ({"timeout_s": 0}, "timeout_s is a number above 0, or None; got 0"),
        ({"period_s": None}, "period_s is a number above 0; got None"),
        ({"period_s": float("nan")}, "period_s is a number above 0; got nan"),
        ({"threads": 100}, "threads is at most max_threads=64; got 100"),
        ({"threads": 1.5}, "threads is a whole number of at least 1, or None; got 1.5"),
        ({"max_threads": True}, "max_threads is a whole number of at least 1; got True"),
        ({"journal": 5}, "journal is a file's path, or None; got 5"),
        ({"keep_input": True}, "keep_input is for on_error='column', where failed rows have a row of their own"),
        ({"schema": struct()}, "schema has at least one column"),
        ({"schema": struct("a", "b", "a")}, "the columns of schema have different names; got twice: 'a'"),
        (
            {"schema": struct("Error"), "on_error": "column"},
            "with on_error='column' the schema has no column 'error' of its own",
        ),
        (
            {"schema": struct("INPUT"), "on_error": "column", "keep_input": True},
            "with keep_input the schema has no column 'input' of its own",
        ),
    ],
)
def test_each_has_its_sentence(options: dict[str, Any], sentence: str) -> None:
    assert problems(**options) == [sentence]


def test_types_that_arrow_does_not_have_are_told_of() -> None:
    schema = st.StructType([st.StructField("age", st.YearMonthIntervalType())])
    (sentence,) = problems(schema)
    assert sentence.startswith("schema has only types that Arrow has, and different names in a struct; ")


def test_all_are_told_at_once() -> None:
    assert len(problems(struct("a", "a"), timeout_s=0, period_s=0, retries=-1, on_error="no")) == 5


def test_times_and_nested_types_are_no_problem() -> None:
    at = st.StructField("at", st.TimestampType())
    schema = st.StructType([at, st.StructField("all", st.ArrayType(st.StructType([at])))])
    assert problems(schema) == []
