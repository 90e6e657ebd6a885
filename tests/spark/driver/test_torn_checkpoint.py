"""A checkpoint whose newest files were torn goes on, and gives what it would have given."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from tests.spark.applications import prices

TOTAL = 60_000


def begun(session: SparkSession, app: ps.Application, checkpoint: Path) -> None:
    """Runs some micro-batches of an application."""
    small = replace(ps.Configuration.of(app, 2), micro_batch_tuples=2_000)
    handle = ps.start(app, session=session, checkpoint=checkpoint, configuration=small)
    until_s = time.time() + 60
    while len(list((checkpoint / "spark" / "commits").glob("[0-9]*"))) < 3 and time.time() < until_s:
        handle.wait(0.05)
    handle.stop()


def rows(folder: Path) -> list[dict[str, object]]:
    tables = [pa.parquet.read_table(path) for path in sorted(folder.glob("batch-*.parquet"))]
    return sorted(pa.concat_tables(tables).to_pylist(), key=lambda row: row["seq"])


@pytest.mark.parametrize("kind", ["manifests", "plans", "spark/commits"])
def test_a_torn_newest_file_costs_nothing(session: SparkSession, tmp_path: Path, kind: str) -> None:
    app, checkpoint = prices(ps.sinks.parquet(str(tmp_path / "out")), TOTAL), tmp_path / "checkpoint"
    begun(session, app, checkpoint)
    newest = max((p for p in (checkpoint / kind).iterdir() if p.name[0].isdigit()), key=lambda p: int(p.stem))
    newest.write_bytes(newest.read_bytes()[:30] if kind == "manifests" else b"")
    ps.run(app, session=session, checkpoint=checkpoint)
    wanted = ps.evaluate(prices(ps.sinks.memory(), TOTAL))["out"].to_pylist()
    assert rows(tmp_path / "out") == sorted(wanted, key=lambda row: row["seq"])
