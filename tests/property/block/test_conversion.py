"""Arrays whose values do not all convert equal those whose values are tried one by one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.conversion import converted

NUMBERS = st.sampled_from(
    ["1", "-2", "+3", " 4", "5 ", "0x1F", "1e3", ".5", "5.", "-.5", "nan", "NaN", "-nan", "inf", "-Infinity", "INF",
     "300", "99999999999999999999", "", " ", "x1", "N/A", "none", "null", "true", "1_000", "\t7", "é", "1,5", "nan(1)",
     "2024-01-31", "2024-01-31 12:30", "2024-01-31T12:30:15.5", "2024-01-31T12:30:15Z", "2024-01-31 12:30:15.25+02:00",
     "2024-01-31T12:30+0530", "2024-13-31T12:30Z", "2024-01-31Z", "2024-01-31 12:30:15 Z"]
)  # fmt: skip
TEXTS = st.lists(NUMBERS | st.text(max_size=3) | st.none(), max_size=20)
TYPES = st.sampled_from(
    [pa.float64(), pa.float32(), pa.int64(), pa.uint8(), pa.bool_(), pa.timestamp("us"), pa.list_(pa.int64())]
)


def one_by_one(array: pa.Array, type_: pa.DataType) -> list[Any]:
    """The slow reference."""
    found = []
    for place in range(len(array)):
        try:
            own = (
                pa.array([array[place].as_py()], array.type)
                if pa.types.is_nested(array.type)
                else array.slice(place, 1)
            )
            text = str(own[0])
            has_zone = pa.types.is_timestamp(type_) and ":" in text and ("Z" in text or "+" in text)
            found.append(own.cast(pa.timestamp("us", "UTC")).cast(type_) if has_zone else own.cast(type_))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            found.append(pa.nulls(1, type_))
    return pa.concat_arrays([pa.nulls(0, type_), *found]).to_pylist()


@given(TEXTS, TYPES, st.sampled_from([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]))
def test_texts_convert_as_each_does_alone(texts: list[str | None], type_: pa.DataType, given_as: pa.DataType) -> None:
    array = pa.array(texts, pa.string()).cast(given_as)
    found = converted(array, type_)
    assert found.type == type_
    assert repr(found.to_pylist()) == repr(one_by_one(pa.array(texts, pa.string()), type_))


@given(st.lists(st.floats(-500, 500) | st.integers(-500, 500).map(float) | st.none(), max_size=20))
def test_numbers_convert_as_each_does_alone(values: list[float | None]) -> None:
    array = pa.array(values, pa.float64())
    assert converted(array, pa.uint8()).to_pylist() == one_by_one(array, pa.uint8())


@given(st.lists(st.lists(st.floats(0, 3) | st.integers(0, 3).map(float), max_size=2) | st.none(), max_size=8))
def test_lists_convert_as_each_does_alone(values: list[list[float] | None]) -> None:
    array = pa.array(values, pa.list_(pa.float64()))
    assert converted(array, pa.list_(pa.int64())).to_pylist() == one_by_one(array, pa.list_(pa.int64()))


def test_a_list_that_converts_stands_beside_one_that_does_not() -> None:
    lists = pa.array([[0.0], [0.5], [2.0], [], None, [1.0, 2.0]], pa.list_(pa.float64()))
    assert converted(lists, pa.list_(pa.int64())).to_pylist() == [[0], None, [2], [], None, [1, 2]]
    views = pa.array([["a"], ["1"], None], pa.list_(pa.string_view()))
    assert converted(views, pa.list_(pa.int64())).to_pylist() == [None, [1], None]


@pytest.mark.parametrize("bad", [0, 1, 4999, 9999])
def test_one_bad_value_costs_only_itself(bad: int) -> None:
    texts = [str(number) for number in range(10_000)]
    texts[bad] = "1.2.3"
    expected = [None if place == bad else place for place in range(10_000)]
    assert converted(pa.array(texts), pa.int64()).to_pylist() == expected


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2024-03-31T00:30:00Z", "2024-03-31 00:30:00"),
        ("2024-03-31T00:30:00+02:00", "2024-03-30 22:30:00"),
        ("2024-03-31 00:30:00.5-0530", "2024-03-31 06:00:00.500000"),
        ("2024-03-31 00:30+05", "2024-03-30 19:30:00"),
        ("2024-03-31 00:30", "2024-03-31 00:30:00"),
        ("2024-03-31", "2024-03-31 00:00:00"),
        ("2024-03-31Z", "None"),
        ("2024-02-30T00:30:00Z", "None"),
    ],
)
def test_texts_with_a_zone_are_moments_in_utc(text: str, utc: str) -> None:
    (alone,) = converted(pa.array([text]), pa.timestamp("us")).to_pylist()
    assert str(alone) == utc
    mixed = converted(pa.array([text, "no", None, "2024-01-01T01:00:00+01:00", "2024-01-01"]), pa.timestamp("us"))
    assert list(map(str, mixed.to_pylist())) == [utc, "None", "None", "2024-01-01 00:00:00", "2024-01-01 00:00:00"]
