"""A copy of a running checkpoint goes on beside it, and neither changes what the other gives."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from tests.spark.applications import prices

TOTAL = 100_000


def rows(folder: Path, least: int = 0, most: int = 10**9) -> list[dict[str, Any]]:
    """The results of some batches, in order."""
    files = [path for path in folder.glob("batch-*.parquet") if least <= int(path.name.split("-")[1]) <= most]
    found = [row for path in files for row in pa.parquet.read_table(path).to_pylist()]
    return sorted(found, key=lambda row: row["seq"])


def test_a_running_checkpoint_is_copied_and_both_give_what_they_should(session: SparkSession, tmp_path: Path) -> None:
    app, original = prices(ps.sinks.parquet(str(tmp_path / "out")), TOTAL), tmp_path / "a"
    wanted = sorted(ps.evaluate(prices(ps.sinks.memory(), TOTAL))["out"].to_pylist(), key=lambda row: row["seq"])
    small = replace(ps.Configuration.of(app, 2), micro_batch_tuples=2_000)
    handle = ps.start(app, session=session, checkpoint=original, configuration=small)
    until_s = time.time() + 60
    while len(list((original / "spark" / "commits").glob("[0-9]*"))) < 4 and time.time() < until_s:
        handle.wait(0.05)
    copied = ps.copy_checkpoint(original, tmp_path / "b", sinks={"out": tmp_path / "staging"})
    shutil.copytree(original, tmp_path / "plain", ignore=shutil.ignore_patterns("*.draft"))
    assert copied.batch is not None
    second = ps.start(app, session=session, checkpoint=tmp_path / "b")  # beside the first, in one session
    assert second.run_id == copied.run_id != handle.run_id
    for running in (handle, second):
        assert running.wait(120)
        running.stop()
    assert rows(tmp_path / "out") == wanted
    assert rows(tmp_path / "out", most=copied.batch) + rows(tmp_path / "staging") == wanted
    assert not rows(tmp_path / "staging", most=copied.batch), "what was done is not done again"
    with pytest.raises(ps.errors.InputError, match=r"is a plain copy of .*: penstock checkpoint copy .*/a NEW"):
        ps.start(app, session=session, checkpoint=tmp_path / "plain")
