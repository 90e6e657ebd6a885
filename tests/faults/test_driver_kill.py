"""Killing the driver (SIGKILL) at any moment loses, repeats and reorders nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.app import sinks
from penstock.element.evaluation import evaluate
from tests.spark.applications import prices

TOTAL = 60_000
ROOT = Path(__file__).parents[2]


def start_driver(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.faults.driver", str(folder / "checkpoint"), str(folder / "out"), str(TOTAL)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def wait_for_batches(folder: Path, more: int, process: subprocess.Popen[str]) -> None:
    """Waits until the driver has published so many more manifests, or has ended."""
    manifests = folder / "checkpoint" / "manifests"

    def published() -> int:
        return len(list(manifests.glob("*.manifest")))

    before, deadline = published(), time.monotonic() + 300
    while published() < before + more and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


def by_ticker(table: pa.Table) -> dict[str, list[tuple[object, ...]]]:
    """Each ticker's rows in the order they stand."""
    rows: dict[str, list[tuple[object, ...]]] = {}
    for row in table.to_pylist():
        rows.setdefault(row["ticker"], []).append((row["seq"], row["cents"], row["low"]))
    return rows


def test_killing_the_driver_at_random_moments(tmp_path: Path) -> None:
    rng = random.Random(5)
    for _ in range(2):
        process = start_driver(tmp_path)
        wait_for_batches(tmp_path, rng.randint(2, 6), process)
        time.sleep(rng.random() * 0.2)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    process = start_driver(tmp_path)
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    app = prices(sinks.memory(), TOTAL)
    trace = app.graph.sources[0].connector
    expected = evaluate(app, {"quotes": trace.table(0, TOTAL)})["out"]  # type: ignore[union-attr]
    files = sorted((tmp_path / "out").glob("*.parquet"))
    got = pa.concat_tables([pq.read_table(file) for file in files])
    assert got.num_rows == expected.num_rows
    assert by_ticker(got) == by_ticker(expected)
