"""Results of `elastic_map` that do not fit the schema fail with a sentence; they never become nulls."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.elastic.output import Output

POINT = pa.struct([pa.field("x", pa.int64(), nullable=False), pa.field("y", pa.int64())])
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("price", pa.float64()),
        pa.field("point", POINT),
        pa.field("path", pa.list_(POINT)),
    ]
)
EMPTY = {"price": None, "point": None, "path": None}


def rows(result: Any, *, error_column: str | None = None, schema: pa.Schema = SCHEMA) -> list[dict[str, Any]]:
    return list(Output(schema, per_tuple=True, error_column=error_column).given(result).to_pylist())


@pytest.mark.parametrize(
    ("result", "ids"),
    [(None, []), ([], []), ({"id": 1}, [1]), ([{"id": 1}, {"id": 2, "price": 3}], [1, 2]), (({"id": 4},), [4])],
)
def test_a_dict_several_or_none_fit_and_nullable_keys_may_be_missing(result: Any, ids: list[int]) -> None:
    assert [row["id"] for row in rows(result)] == ids
    assert [row["path"] for row in rows(result)] == [None] * len(ids)


@pytest.mark.parametrize("error_column", [None, "error"])
@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (
            {"id": 1, "prise": 2.0},
            "must return no keys that the schema does not have; got 'prise'; it has: id, price, point, path; "
            "did you mean 'price'?",
        ),
        (
            [{"id": 1}, {"id": 1, 7: 2.0, "kind": "a"}],
            "must return no keys that the schema does not have; got '7', 'kind'; it has: id, price, point, path",
        ),
        ({"price": 2.0}, "must return all keys that the schema says are not null; 'id' missing; got: price"),
        ({}, "must return all keys that the schema says are not null; 'id' missing; got: "),
        ({"id": None, "price": 1.0}, "must return no null for 'id', which the schema says is not null"),
        (
            {"id": 1, "point": {"x": 1, "z": 2}},
            "must return no keys in 'point' that the schema does not have; got 'z'; it has: x, y",
        ),
        (
            {"id": 1, "path": [{"x": 1}, {"y": 2}]},
            "must return all keys in 'path' that the schema says are not null; 'x' missing; got: y",
        ),
    ],
)
def test_a_row_with_other_keys_or_nulls_fails_and_names_them(
    result: Any, sentence: str, error_column: str | None
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        rows(result, error_column=error_column)


@pytest.mark.parametrize(
    ("result", "got"),
    [
        ("abc", "str"),
        ("", "str"),
        (b"", "bytes"),
        (5, "int"),
        (["abc"], "list with str"),
        ([{"id": 1}, None], "list with NoneType"),
        ((1, 2.0), "tuple with int"),
        (MappingProxyType({"id": 1}), "mappingproxy"),
    ],
)
def test_a_result_that_is_no_dict_and_no_list_of_dicts_fails(result: Any, got: str) -> None:
    with pytest.raises(TypeError, match=f"^must give None, a dict or several dicts; got {got}$"):
        rows(result)


def test_a_block_without_a_column_or_with_a_null_too_many_fails() -> None:
    schema = pa.schema([SCHEMA.field("id"), SCHEMA.field("price")])
    output = Output(schema, per_tuple=False, error_column=None)
    assert output.given({"id": [1], "price": [None], "more": [2]}).to_pylist() == [{"id": 1, "price": None}]
    with pytest.raises(ValueError, match="must return all columns of the schema; 'price' is missing; got: id, prise"):
        output.given({"id": [1], "prise": [2.0]})
    with pytest.raises(ValueError, match="must return no null for 'id', which the schema says is not null"):
        output.given({"id": [1, None], "price": [2.0, 3.0]})


def test_rows_with_and_without_errors_have_one_schema() -> None:
    output = Output(SCHEMA, per_tuple=True, error_column="error")
    batch = pa.concat_batches([output.given({"id": 1, "point": {"x": 2}}), output.failed(1, "was late")])
    assert batch.to_pylist() == [
        {**EMPTY, "id": 1, "point": {"x": 2, "y": None}, "error": None},
        {**EMPTY, "id": None, "error": "was late"},
    ]
    assert all(field.nullable for field in output.schema)
