"""Sessions of two processes on one host: each has its own state and results, whoever begins and ends."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.host.directories import user_directory
from penstock.state.memory.host_directory import state_roots
from tests.checkout import ROOT
from tests.spark.connectors.test_row_sources import csv

ROWS = 600


def application(folder: Path, factor: int) -> ps.Application:
    """All names are the same in both processes; the values differ, and so does the code."""
    app = ps.Application("same")
    trades = app.source("trades", ps.sources.csv(folder), {"ticker": "string", "price": "float64"})
    scaled = trades.map(
        "scaled", lambda row: {"ticker": row["ticker"], "price": row["price"] * factor}, per_tuple=True,
        schema={"ticker": "string", "price": "float64"},
    )  # fmt: skip
    emit = {"ticker": "any(ticker)", "total": "sum(price)", "n": "count()"}
    window = ps.sliding(count=1000, per_group=True)  # so that each result depends on all tuples before it
    scaled.aggregate("window", by="ticker", window=window, emit=emit).sink("out", ps.sinks.memory())
    return app


def file(folder: Path, number: int) -> None:
    rows = "".join(f"t{i % 7},{i + number}\n" for i in range(ROWS))
    csv(folder, f"{number}.csv", "ticker,price\n" + rows)


def wait_for(handle: ps.Handle, tuples: int) -> None:
    deadline = time.monotonic() + 90
    while sum(own.tuples_in for own in handle.result.observations) < tuples and time.monotonic() < deadline:
        assert not handle.wait(0.1)
        handle.observe()


def kept_by(handle: ps.Handle) -> list[Path]:
    """The folders that this host has for an application's state by key."""
    return [path for root in state_roots() for path in Path(user_directory(root)).glob(f"{handle.run_id}/*/*")]


def expected(factor: int) -> list[dict[str, Any]]:
    rows = [{"ticker": f"t{i % 7}", "price": float(i + number)} for number in range(2) for i in range(ROWS)]
    columns = {name: [row[name] for row in rows] for name in ("ticker", "price")}
    return ps.evaluate(application(Path("in"), factor), {"trades": columns})["out"].to_pylist()


def other(folder: str) -> None:
    """The second process: it says when its first file is done, and what came of both."""
    handle = ps.start(application(Path(folder), 3), master="local[2]")
    wait_for(handle, ROWS)
    print("first", flush=True)
    wait_for(handle, 2 * ROWS)
    print(json.dumps(handle.stop().tables["out"].to_pylist()), flush=True)


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts the second process; nothing of it is left."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.spark.session.test_two_processes", str(tmp_path / "b")]
        started.append(subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_sessions_of_two_processes_that_share_all_names_do_not_meet(
    session: SparkSession, tmp_path: Path, second: Callable[[], subprocess.Popen[str]]
) -> None:
    for name in "ab":
        file(tmp_path / name, 0)
    handle = ps.start(application(tmp_path / "a", 2), session=session)
    wait_for(handle, ROWS)
    state = kept_by(handle)
    assert state
    process = second()  # its start sweeps what nobody holds
    assert process.stdout is not None
    assert process.stdout.readline() == "first\n"
    assert kept_by(handle) == state
    file(tmp_path / "a", 1)
    wait_for(handle, 2 * ROWS)
    result = handle.stop()  # the first ends, and the second goes on
    file(tmp_path / "b", 1)
    assert json.loads(process.stdout.readline()) == expected(3)
    assert process.wait(60) == 0
    assert result.tables["out"].to_pylist() == expected(2)


if __name__ == "__main__":
    other(sys.argv[1])
