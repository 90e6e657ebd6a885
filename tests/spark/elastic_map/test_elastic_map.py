"""`ps.elastic_map` on DataFrames, batch and streaming."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps


def slow(row: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.005)
    return {"id": row["id"], "twice": 2 * row["id"]}


async def soon(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "twice": 2 * row["id"]}


@pytest.mark.parametrize("function", [slow, soon])
def test_rows_keep_their_order_within_a_partition(session: SparkSession, function: Any) -> None:
    frame = session.range(0, 600, numPartitions=2)
    rows = ps.elastic_map(frame, function, "id long, twice long", per_tuple=True, period_s=0.2).collect()
    assert [(row.id, row.twice) for row in rows] == [(n, 2 * n) for n in range(600)]


def test_errors_become_a_column(session: SparkSession) -> None:
    def half(batch: Any) -> Any:
        ids = batch["id"].to_pylist()
        if 7 in ids:
            raise ValueError("seven")
        return {"half": [n / 2 for n in ids]}

    frame = session.range(0, 10, numPartitions=1)
    rows = ps.elastic_map(frame, half, "half double", block_rows=2, on_error="column").collect()
    assert [row.half for row in rows] == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, None, None, 4.0, 4.5]
    assert ["ValueError: seven" in (row.error or "") for row in rows] == [n in (6, 7) for n in range(10)]


def test_a_row_without_a_value_that_the_schema_wants_is_an_error_though_failed_rows_have_nulls(
    session: SparkSession,
) -> None:
    def asked(row: dict[str, Any]) -> dict[str, Any]:
        return {"id": row["id"]} if row["id"] != 1 else {"name": "one"}

    frame = session.range(0, 3, numPartitions=1)
    rows = ps.elastic_map(
        frame, asked, "id long not null, name string", per_tuple=True, on_error="column"
    ).collect()  # fmt: skip
    assert [(row.id, row.name) for row in rows] == [(0, None), (None, None), (2, None)]
    assert "'id' missing; got: name" in rows[1].error


def test_a_streaming_frame_keeps_its_pool_between_micro_batches(session: SparkSession, tmp_path: Path) -> None:
    journal = tmp_path / "levels.jsonl"
    source = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 60).option("numPartitions", 1).load()
    frame = ps.elastic_map(
        source.selectExpr("value as id"), slow, "id long, twice long", per_tuple=True, period_s=0.2, journal=journal
    )
    seen: list[int] = []
    query = frame.writeStream.foreachBatch(lambda rows, _: seen.extend(r.id for r in rows.collect())).start()
    deadline = time.monotonic() + 120
    while (not journal.exists() or len(seen) < 300) and time.monotonic() < deadline:
        time.sleep(0.2)
    query.stop()
    assert seen == list(range(len(seen)))
    assert len(seen) >= 300
    assert journal.read_text().count("next_level") >= 1


def test_all_that_is_wrong_is_told_at_once(session: SparkSession) -> None:
    with pytest.raises(ps.errors.InputError) as raised:
        ps.elastic_map(session.range(1), 5, "id lng", max_threads=0, on_error="ignore")  # type: ignore[arg-type]
    message = str(raised.value)
    assert message.count("elastic_map: ") == 4
    for part in ("function is callable; got int", "max_threads is a whole number", "'id lng'", "got 'ignore'"):
        assert part in message
