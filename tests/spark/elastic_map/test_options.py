"""Options of `ps.elastic_map`, types and errors, each on a real session."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

import penstock as ps

TWICE = "id long, twice long"
TYPES = """
    true as bool, 1y as tiny, 2s as small, 3 as int, 4L as long, 1.5f as float, 2.5d as double, 1.25bd as decimal,
    'text' as string, x'0aff' as binary, date'2026-01-02' as date, timestamp'2026-01-02 03:04:05.678' as timestamp,
    timestamp_ntz'2026-01-02 03:04:05' as naive, interval '1 02:03:04' day to second as interval,
    array(1, null, 3) as list, map('a', timestamp'2026-01-02 00:00:00', 'b', null) as map,
    named_struct('x', 1L, 'at', array(timestamp'2026-03-29 02:30:00')) as struct,
    array(named_struct('m', map(1, array('a')))) as deep
"""


def twice(row: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.001 * (row["id"] * 7 % 3))
    return {"id": row["id"], "twice": 2 * row["id"]}


async def twice_soon(row: dict[str, Any]) -> dict[str, Any]:
    return twice(row)


def first_time(row: dict[str, Any], folder: Path) -> bool:
    """Whether a row comes for the first time, in whatever process."""
    try:
        (folder / str(row["id"])).touch(exist_ok=False)
    except FileExistsError:
        return False
    return bool(row["id"] % 10 == 0)


def late_once(folder: Path) -> Callable[..., Any]:
    def asked(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(1.0 if first_time(row, folder) else 0.0)
        return twice(row)

    return asked


def failing_once(folder: Path) -> Callable[..., Any]:
    def asked(row: dict[str, Any]) -> dict[str, Any]:
        if first_time(row, folder):
            raise ConnectionError("down")
        return twice(row)

    return asked


@pytest.mark.parametrize(
    ("function", "rows", "options"),
    [
        (lambda _: twice, 200, {"ordered": False}),
        (lambda _: twice_soon, 200, {"ordered": False, "on_error": "column", "keep_input": True}),
        (late_once, 20, {"timeout_s": 0.3, "retries": 1}),
        (failing_once, 60, {"retries": 1}),
        (lambda _: twice, 200, {"threads": 3}),
        (lambda _: twice, 3, {}),  # of eight partitions most are empty
        (lambda _: twice, 0, {"on_error": "column", "keep_input": True}),
    ],
)
def test_every_row_comes_once_whatever_the_options(
    session: SparkSession, tmp_path: Path, function: Callable[..., Any], rows: int, options: dict[str, Any]
) -> None:
    frame = session.range(0, rows, numPartitions=8 if rows < 10 else 2)
    got = ps.elastic_map(frame, function(tmp_path), TWICE, per_tuple=True, **options).collect()
    pairs = [(row.id, row.twice) for row in got]
    assert (pairs if options.get("ordered", True) else sorted(pairs)) == [(n, 2 * n) for n in range(rows)]
    assert all(row.error is None and row.input is None for row in got if "on_error" in options)


@pytest.mark.parametrize("per_tuple", [True, False])
@pytest.mark.parametrize("options", [{}, {"on_error": "column", "keep_input": True}])
def test_all_types_come_back_as_they_went(session: SparkSession, per_tuple: bool, options: dict[str, Any]) -> None:
    full = session.sql(f"select {TYPES}")
    frame = full.union(session.sql(f"select {', '.join('null as ' + name for name in full.columns)}")).coalesce(1)
    got = ps.elastic_map(frame, lambda given: given, frame.schema, per_tuple=per_tuple, **options)
    assert got.select(*frame.columns).collect() == frame.collect()
    assert [field.dataType for field in got.schema][: len(frame.columns)] == [f.dataType for f in frame.schema]


def test_the_input_of_failed_rows_can_be_tried_again(session: SparkSession) -> None:
    def none(given: Any) -> Any:
        raise LookupError("none")

    frame = session.sql(f"select {TYPES}")
    for per_tuple in (True, False):
        failed = ps.elastic_map(frame, none, "id long", per_tuple=per_tuple, on_error="column", keep_input=True)
        again = failed.where("error like '%LookupError: none%' and id is null").select("input.*")
        assert again.collect() == frame.collect()


def test_an_error_ends_the_query_with_its_sentence(session: SparkSession) -> None:
    def priced(row: dict[str, Any]) -> dict[str, Any]:
        if row["id"] == 7:
            raise LookupError("no article 7")
        return {"id": row["id"]}

    frame = session.range(0, 10, numPartitions=1)
    with pytest.raises(PythonException, match="elastic_map: priced failed with LookupError: no article 7 at"):
        ps.elastic_map(frame, priced, "id long", per_tuple=True).collect()
    with pytest.raises(PythonException, match=r"elastic_map: priced took longer than timeout_s=0\.2"):
        ps.elastic_map(frame, late(priced), "id long", per_tuple=True, timeout_s=0.2).collect()


def late(function: Callable[..., Any]) -> Callable[..., Any]:
    def priced(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.5)
        return dict(function(row))

    return priced


def test_accumulators_count_the_calls_of_all_partitions(session: SparkSession) -> None:
    calls = session.sparkContext.accumulator(0)

    def counted(row: dict[str, Any]) -> dict[str, Any]:
        calls.add(1)
        return {"id": row["id"]}

    frame = ps.elastic_map(session.range(0, 400, numPartitions=8), counted, "id long", per_tuple=True, threads=4)
    assert frame.count() == 400
    assert calls.value == 400


def test_columns_of_one_name_are_refused(session: SparkSession) -> None:
    left, right = session.range(3), session.range(3)
    both: DataFrame = left.join(right, left.id == right.id)
    for per_tuple in (True, False):
        with pytest.raises(
            ps.errors.InputError, match="the columns of df have different names; got twice: 'id'; rename one"
        ):
            ps.elastic_map(both, twice, TWICE, per_tuple=per_tuple)
