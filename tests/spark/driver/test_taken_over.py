"""A driver that lost its lock to another one stops with a sentence, and no tuple is lost, repeated or changed."""

from __future__ import annotations

import fcntl
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.state.checkpoint.lease import Lease
from tests.spark.applications import prices

TOTAL = 100_000


def read(folder: Path) -> pa.Table:
    return pa.concat_tables([pa.csv.read_csv(path) for path in sorted(folder.glob("batch-*.csv"))])


def test_a_driver_that_lost_its_lock_stops_and_the_next_one_goes_on_exactly(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = prices(ps.sinks.csv(str(tmp_path / "out")), TOTAL)
    wanted = ps.evaluate(prices(ps.sinks.memory(), TOTAL))["out"]
    checkpoint = tmp_path / "checkpoint"
    small = replace(ps.Configuration.of(app, 2), micro_batch_tuples=2_000)
    handle = ps.start(app, session=session, checkpoint=checkpoint, configuration=small)
    until_s = time.time() + 60
    while not list((tmp_path / "out").glob("batch-*.csv")) and time.time() < until_s:
        handle.wait(0.05)
    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", lambda descriptor, operation: None)  # as if it had expired
        stolen = Lease(str(checkpoint))
    published = {path.name: path.stat().st_mtime_ns for path in (checkpoint / "manifests").iterdir()}
    with pytest.raises(ps.errors.PenstockError, match=r"was taken over by process .* this driver stops"):
        handle.wait(60)
    handle.stop()
    after = {path.name: path.stat().st_mtime_ns for path in (checkpoint / "manifests").iterdir()}
    assert len(after.items() - published.items()) <= 1, "at most the one that was on its way when the lease was taken"
    stolen.release()
    ps.run(app, session=session, checkpoint=checkpoint)
    assert read(tmp_path / "out").to_pylist() == wanted.to_pylist()
