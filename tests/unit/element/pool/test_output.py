"""Results of `elastic_map` that do not fit the schema fail with a sentence; they never become nulls or other values."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.element.pool.output import Output

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
UNIT = pa.RecordBatch.from_pydict({"n": [10, 11], "at": [None, datetime.date(2026, 1, 1)]})
TAGS = pa.list_(pa.field("element", pa.string(), nullable=False))
POINTS = pa.map_(pa.string(), POINT)


def rows(result: Any, *, error_column: str | None = None, schema: pa.Schema = SCHEMA) -> list[dict[str, Any]]:
    output = Output(schema, error_column=error_column)
    return list(output.of_rows(output.rows(result)).to_pylist(maps_as_pydicts="strict"))


def block(columns: Any, kind: pa.DataType) -> list[Any]:
    given = {"value": columns}
    return list(Output(pa.schema({"value": kind})).block(given)["value"].to_pylist(maps_as_pydicts="strict"))


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
        ({"id": 1, "point": {"x": None}}, "must return no null for 'point.x', which the schema says is not null"),
        (
            {"id": 1, "path": [None, {"x": 1}, {"x": None}]},
            "must return no null for 'path.x', which the schema says is not null",
        ),
    ],
)
def test_a_row_with_other_keys_or_nulls_fails_and_names_them(
    result: Any, sentence: str, error_column: str | None
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        rows(result, error_column=error_column)


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        (pa.int64(), 19.99 * 100, "must return whole numbers for 'value'; got 1998.99"),
        (pa.int32(), np.float64(0.5), "must return whole numbers for 'value'"),
        (pa.int64(), Decimal("1.5"), "must return whole numbers for 'value'"),
        (pa.list_(pa.int64()), [1, 2.5], "must return whole numbers for 'value'"),
        (pa.list_(pa.int64()), np.array([1, 2.5]), "must return whole numbers for 'value'"),
        (POINT, {"x": 1.5}, "must return whole numbers for 'value.x'"),
        (pa.map_(pa.string(), pa.int64()), {"a": 1.5}, "must return whole numbers for 'value'"),
        (pa.float32(), 1e300, "must return numbers for 'value' that a float can hold; got 1e+300"),
        (TAGS, "ab", "must return a list for 'value'; got str"),
        (TAGS, b"ab", "must return a list for 'value'; got bytes"),
        (TAGS, {"a": "b"}, "must return a list for 'value'; got dict"),
        (TAGS, ["a", None], "must return no null among the elements of 'value', which the schema says are not null"),
        (POINT, (("x", 1),), "must return a dict for 'value'; got tuple"),
        (POINTS, {"a": {"x": 1, "z": 2}}, "must return no keys in 'value' that the schema does not have; got 'z'"),
        (POINTS, [("a", {"x": 1, "z": 2})], "must return no keys in 'value' that the schema does not have; got 'z'"),
        (POINTS, {"a": {"x": None}}, "must return no null for 'value.x', which the schema says is not null"),
    ],
)  # fmt: skip
def test_values_that_arrow_would_change_or_let_pass_fail_by_rows_and_in_blocks(
    kind: pa.DataType, value: Any, sentence: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(sentence)}"):
        rows({"value": value}, schema=pa.schema({"value": kind}))
    with pytest.raises((ValueError, TypeError, pa.ArrowException)):
        block([value], kind)


def test_whole_numbers_of_any_kind_are_integers_and_texts_are_not() -> None:
    schema = pa.schema({"value": pa.int64()})
    for value in (5, 5.0, np.int32(5), np.float64(5), Decimal(5), pa.scalar(5)):
        assert rows({"value": value}, schema=schema) == [{"value": 5}]
    for nothing in (None, pa.scalar(None, pa.int64())):
        assert rows({"value": nothing}, schema=schema) == [{"value": None}]
    with pytest.raises(ValueError, match="must return whole numbers for 'value'; got '5'"):
        rows({"value": "5"}, schema=schema)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.map_(pa.string(), pa.int64()), {"a": 1, "b": None}),
        (POINTS, {"a": {"x": 1, "y": None}, "b": None}),
        (pa.list_(pa.map_(pa.string(), TAGS)), [{"a": ["b"]}, {}, None]),
        (POINT, {"x": 1, "y": None}),
        (TAGS, []),
        (pa.timestamp("us", "UTC"), datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)),
        (pa.decimal128(10, 2), Decimal("1.50")),
        (pa.date32(), datetime.date(2026, 1, 1)),
        (pa.duration("us"), datetime.timedelta(seconds=1)),
        (pa.binary(), b"ab"),
        (pa.bool_(), True),
    ],
)  # fmt: skip
def test_values_of_all_types_are_the_same_by_rows_and_in_blocks(kind: pa.DataType, value: Any) -> None:
    assert rows({"value": value}, schema=pa.schema({"value": kind})) == [{"value": value}]
    assert block([value, None], kind) == [value, None]
    assert block(pa.array([value, None, value], kind)[1:], kind) == [None, value]


def test_a_datetime_without_a_time_zone_is_taken_as_utc() -> None:
    kind = pa.timestamp("us", "UTC")
    noon = datetime.datetime(2026, 1, 1, 12)
    assert rows({"value": noon}, schema=pa.schema({"value": kind})) == [{"value": noon.replace(tzinfo=datetime.UTC)}]
    assert block([noon], kind) == [noon.replace(tzinfo=datetime.UTC)]


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
    output = Output(pa.schema([SCHEMA.field("id"), SCHEMA.field("price")]))
    assert output.block({"id": [1], "price": [None], "more": [2]}).to_pylist() == [{"id": 1, "price": None}]
    with pytest.raises(ValueError, match="must return all columns of the schema; 'price' is missing; got: id, prise"):
        output.block({"id": [1], "prise": [2.0]})
    with pytest.raises(ValueError, match="must return no null for 'id', which the schema says is not null"):
        output.block({"id": [1, None], "price": [2.0, 3.0]})
    with pytest.raises(TypeError, match="must return a list or an array for 'price'; got str"):
        output.block({"id": [1, 2], "price": "ab"})
    with pytest.raises(TypeError, match="must return an Arrow record batch, a table or a dict of columns; got list"):
        output.block([1])


@pytest.mark.parametrize("wrap", [lambda array: array, lambda array: pa.chunked_array([array]), pa.Array.to_pylist])
def test_a_misspelt_field_in_a_struct_of_a_block_fails(wrap: Any) -> None:
    points = pa.array([{"x": 1, "yy": 2}])
    sentence = "must return no keys in 'value' that the schema does not have; got 'yy'; it has: x, y"
    with pytest.raises(ValueError, match=sentence):
        block(wrap(points), POINT)
    for kind, made in (
        (pa.list_(POINT), pa.array([[{"x": 1, "yy": 2}]])),
        (POINTS, pa.array([{"a": {"x": 1, "yy": 2}}], pa.map_(pa.string(), points.type))),
    ):
        with pytest.raises(ValueError, match=sentence):
            block(wrap(made), kind)


def test_nulls_within_what_is_null_itself_are_none() -> None:
    points = pa.StructArray.from_arrays([pa.array([1, None]), pa.array([1, 2])], fields=list(POINT),
                                        mask=pa.array([False, True]))  # fmt: skip
    assert block(points, POINT) == [{"x": 1, "y": 1}, None]
    kept = pa.array([{"a": {"x": None, "y": 1}}, {"b": {"x": 1, "y": 1}}], pa.map_(pa.string(), pa.struct(
        [pa.field("x", pa.int64()), pa.field("y", pa.int64())])))  # fmt: skip
    assert block(kept[1:], POINTS) == [{"b": {"x": 1, "y": 1}}]


def test_rows_with_and_without_errors_have_one_schema() -> None:
    output = Output(SCHEMA, error_column="error")
    batch = output.of_rows([*output.rows({"id": 1, "point": {"x": 2}}), output.failed_row(UNIT, 1, "was late")])
    assert batch.to_pylist() == [
        {**EMPTY, "id": 1, "point": {"x": 2, "y": None}, "error": None},
        {**EMPTY, "id": None, "error": "was late"},
    ]
    assert all(field.nullable for field in output.schema)
    assert output.block({name: [] for name in SCHEMA.names}).schema == batch.schema
    assert output.failed_block(UNIT, "was late").schema == batch.schema


def test_failed_rows_can_keep_their_input() -> None:
    kept = pa.struct({"n": pa.int64(), "at": pa.date32()})
    output = Output(pa.schema({"id": pa.int64()}), error_column="error", input_type=kept)
    batch = output.of_rows([*output.rows({"id": 1}), output.failed_row(UNIT, 1, "was late")])
    last = {"n": 11, "at": datetime.date(2026, 1, 1)}
    assert batch.to_pylist() == [
        {"id": 1, "error": None, "input": None},
        {"id": None, "error": "was late", "input": last},
    ]
    failed = output.failed_block(UNIT, "was late")
    assert failed["input"].to_pylist() == [{"n": 10, "at": None}, last]
    assert output.block({"id": [1]}).schema == failed.schema == batch.schema


def test_a_dict_that_the_function_uses_again_is_taken_as_it_was() -> None:
    output, used = Output(pa.schema({"id": pa.int64()})), {"id": 1}
    first = output.rows(used)
    used["id"] = 2
    assert output.of_rows([*first, *output.rows(used)]).to_pylist() == [{"id": 1}, {"id": 2}]
