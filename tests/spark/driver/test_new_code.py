"""A restart in one process runs the functions of the new start, never those of the one before."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import penstock as ps
from tests.checkout import ROOT

RATE_TUPLES_S = 2_000.0


def version_of(number: int) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A function by the same name, whatever its code says."""

    def stamped(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch({"version": pa.array([number] * batch.num_rows, pa.int64())})

    return stamped


def app_with(function: Callable[[pa.RecordBatch], pa.RecordBatch]) -> ps.Application:
    app = ps.Application("versions")
    quotes = app.source("quotes", ps.sources.trace("constant", RATE_TUPLES_S, keys=8))
    quotes.map("stamped", function, schema={"version": "int64"}).sink("out", ps.sinks.memory())
    return app


def versions(app: ps.Application, checkpoint: Path, session: SparkSession) -> set[int]:
    """The versions among the results of a few micro-batches."""
    handle = ps.start(app, checkpoint=checkpoint, session=session)
    until_s = time.time() + 60
    while len(handle.result.observations) < 3 and time.time() < until_s:
        handle.wait(0.1)
        handle.observe()
    return set(handle.stop().tables["out"].column("version").to_pylist())


def test_a_function_by_value_is_the_new_one(session: SparkSession, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        assert versions(app_with(version_of(number)), tmp_path / "checkpoint", session) == {number}


SCRIPT = """
import importlib, os, sys
from pathlib import Path
from penstock.spark.session.session import spark_session
from tests.spark.driver.test_new_code import app_with, versions

session = spark_session("local[2]")
for number in (1, 2):
    module = Path("edited_by_the_user.py")
    module.write_text(
        "import pyarrow as pa\\n\\n\\ndef stamped(batch):\\n"
        f"    return pa.record_batch({{'version': pa.array([{number}] * batch.num_rows, pa.int64())}})\\n"
    )
    os.utime(module, (number, number))
    sys.modules.pop("edited_by_the_user", None)
    function = importlib.import_module("edited_by_the_user").stamped
    print(number, versions(app_with(function), Path("checkpoint"), session))
"""


def test_a_function_of_an_edited_module_is_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    paths = os.pathsep.join([str(tmp_path), str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert ended.stdout.splitlines() == ["1 {1}", "2 {2}"], ended.stderr[-2000:]
