"""Where a run keeps its state: where it was asked to, on disk when that is full, and gone after a kill."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.host.directories import user_directory
from tests.checkout import ROOT

TUPLES = 400_000


def application(keys: int, total: int | None) -> ps.Application:
    """All there is of a finite trace at once; one without an end at a steady rate."""
    app = ps.Application("state")
    rate = "constant" if total is None else "unbounded"
    trace = ps.sources.trace(rate, rate_tuples_s=2_000, keys=keys, total=total, ticker="int32", seed=3)
    trades = app.source("trades", trace)
    emit = {"ticker": "any(ticker)", "volume": "sum(volume)", "n": "count()"}
    windows = trades.aggregate("window", by="ticker", window=ps.sliding(count=64, per_group=True), emit=emit)
    windows.sink("out", ps.sinks.discard())
    return app


@pytest.fixture
def small_memory(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory that is large enough to begin with, and too small for all state."""
    folder = tmp_path / "memory"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=136m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("may not mount a file system here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_run_whose_state_directory_fills_up_goes_on_on_disk(
    session: SparkSession, tmp_path: Path, small_memory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = application(TUPLES, TUPLES)
    expected = ps.run(app, session=session, checkpoint=tmp_path / "plain", state_directory=tmp_path / "roomy")
    with caplog.at_level(logging.WARNING):
        result = ps.run(app, session=session, checkpoint=tmp_path / "small", state_directory=small_memory)
    assert result.discarded == expected.discarded
    told = [r.getMessage() for r in caplog.records if "has too little space: state by key is in" in r.getMessage()]
    assert len(told) == 1
    assert list(Path(user_directory(str(small_memory))).iterdir()) == []


def wait_for_workers(folder: Path) -> None:
    """They end soon after their JVM; until then the state is theirs."""
    with (folder / "lock").open() as lock:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.1)
    raise AssertionError("workers of a driver that was killed go on")


PROGRAM = """
import sys
import time
import penstock as ps
from tests.spark.driver.test_state_directory import application
handle = ps.start(application(1_000, None), master="local[2]", state_directory=sys.argv[1])
while handle.observe() is None:
    handle.wait(0.2)
print(handle.checkpoint.directory, handle.session.sparkContext.getConf().get("spark.local.dir"), flush=True)
handle.wait()
"""


@pytest.mark.long
@pytest.mark.usefixtures("no_session")
def test_what_a_killed_driver_leaves_is_gone_after_the_next_start(tmp_path: Path) -> None:
    state = tmp_path / "state"
    driver = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(state)], stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True
    )
    assert driver.stdout is not None
    checkpoint, local = map(Path, driver.stdout.readline().decode().split())
    own = Path(user_directory(str(state)))
    held = [path for path in own.iterdir() if path.is_dir()]
    try:
        assert len(held) == 1
        ps.run(application(10, 100), master="local[2]", state_directory=state)  # another start leaves a living one's
        assert [path.is_dir() for path in (checkpoint, local, *held)] == [True] * 3
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    wait_for_workers(held[0])
    handle = ps.start(application(10, 100), master="local[2]", state_directory=state)
    try:
        assert [path.exists() for path in (checkpoint, *held)] == [False] * 2
        handle.wait(60)
    finally:
        handle.stop()
    assert list(own.iterdir()) == []
