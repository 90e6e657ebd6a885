"""Driver processes under attack: started, watched, killed, and their output held to the engine in this process."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from penstock import sinks
from penstock.block.block import block_of
from penstock.element.evaluation import evaluate
from penstock.kernels.keys.row_checksum import checksum_of
from tests.checkout import ROOT
from tests.faults.applications import APPLICATIONS
from tests.faults.driver import Wish
from tests.faults.orders import VARIABLE, Orders
from tests.faults.processes import below, command, kill, python_workers

THOROUGH = "PENSTOCK_FAULTS" in os.environ
thorough = pytest.mark.skipif(not THOROUGH, reason="takes minutes; run it with `make faults`")


@dataclass(slots=True)
class Run:
    """One application over the lives of its drivers; `seed` makes the moments of killing the same each time."""

    wish: Wish
    seed: int = 5
    kills: int = 0
    process: subprocess.Popen[str] | None = None
    orders: Orders = field(init=False)
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.orders, self.random = Orders(self.folder / "orders"), random.Random(self.seed)

    @property
    def folder(self) -> Path:
        return Path(self.wish.folder)

    def start(self, wish: Wish | None = None) -> None:
        """Starts a driver, whose process group is its own."""
        environment = os.environ | {VARIABLE: str(self.orders.folder)}
        command = [sys.executable, "-m", "tests.faults.driver", (wish or self.wish).to_json()]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def batches(self) -> int:
        """The batches whose state counts."""
        names = [path.stem for path in (self.folder / "checkpoint" / "manifests").glob("*.manifest")]
        return 1 + max(map(int, names), default=-1)

    def wait_for_batches(self, more: int, timeout_s: float = 300.0) -> None:
        """Waits until so many more batches count, or the driver has ended."""
        before, deadline = self.batches(), time.monotonic() + timeout_s
        while self.batches() < before + more and self.is_running() and time.monotonic() < deadline:
            time.sleep(0.01)

    def wait_for_lease(self, timeout_s: float = 300.0) -> None:
        """Waits until the driver has taken the checkpoint over, in the middle of its start."""
        lease, deadline = self.folder / "checkpoint" / "lease", time.monotonic() + timeout_s
        before = lease.read_bytes() if lease.is_file() else b""
        while self.is_running() and time.monotonic() < deadline:
            if lease.is_file() and lease.read_bytes() not in (b"", before):
                return
            time.sleep(0.01)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """The driver, its JVM and its workers do nothing meanwhile."""
        assert self.is_running(), "the driver ended too early"
        os.killpg(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.pid, signal.SIGCONT)

    def kill_driver(self, *, whole_group: bool = True) -> None:
        """Kills the driver, with its JVM and workers or alone."""
        assert self.process is not None
        if self.is_running():
            self.kills += 1
            os.killpg(self.pid, signal.SIGKILL) if whole_group else kill(self.pid)
        self.process.communicate()

    def kill_a_worker(self) -> None:
        """Kills one of the Python workers, if there are any."""
        found = python_workers(self.pid)
        if found and kill(self.random.choice(found)):
            self.kills += 1

    def finish(self, timeout_s: float = 600.0) -> dict[str, Any]:
        """Waits for the driver's end; what it says of its run."""
        assert self.process is not None
        output, errors = self.process.communicate(timeout=timeout_s)
        assert self.process.returncode == 0, f"{output}{errors}"
        said: dict[str, Any] = json.loads(output.splitlines()[-1])
        return said

    def death(self, timeout_s: float = 600.0) -> int:
        """Waits for a driver that kills itself; its exit code."""
        assert self.process is not None
        self.process.communicate(timeout=timeout_s)
        self.kills += 1
        return self.process.returncode

    def failure(self, timeout_s: float = 600.0) -> tuple[int, str]:
        """Waits for a driver that gives up; its exit code and what it tells the user."""
        assert self.process is not None
        _, errors = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, errors

    def wait_for_order(self, timeout_s: float = 300.0) -> None:
        """Waits until one more order has been carried out, or the driver has ended."""
        before, deadline = self.orders.carried_out(), time.monotonic() + timeout_s
        while self.orders.carried_out() == before and self.is_running() and time.monotonic() < deadline:
            time.sleep(0.01)

    def kill_below(self, name: str) -> bool:
        """Kills the driver's processes with a word in their command line."""
        killed = [kill(pid) for pid in below(self.pid) if name in command(pid)]
        self.kills += sum(killed)
        return any(killed)

    def end(self) -> None:
        """Leaves nothing running."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()

    def check(self, said: dict[str, Any]) -> None:
        """The output is the engine's own, to the bit and in order."""
        wanted = expected(self.wish.application, self.wish.total)
        if self.wish.sink == "parquet":
            check_files(self.folder / "out", wanted)
        elif self.wish.sink == "memory":
            check_end(pyarrow.feather.read_table(self.folder / "table.arrow"), wanted)
        else:
            block = block_of(wanted.combine_chunks().to_batches()[0], wanted.schema)
            assert said["discarded"] == [wanted.num_rows, checksum_of(block)]


@functools.cache
def expected(application: str, total: int) -> pa.Table:
    """What the engine in this process gives for the same tuples."""
    return evaluate(APPLICATIONS[application](sinks.memory(), total))["out"]


def check_files(folder: Path, wanted: pa.Table) -> None:
    """Every file is whole, and together they have each row once, with the rows of a key in their order.

    Nothing is left of attempts that did not count.
    """
    assert list(folder.glob(".penstock/*")) == []
    got = pa.concat_tables([pq.read_table(file) for file in sorted(folder.glob("*.parquet"))])
    assert got.num_rows == wanted.num_rows
    assert by_key(got) == by_key(wanted)


def check_end(got: pa.Table, wanted: pa.Table) -> None:
    """A driver that went on from a checkpoint has the last rows, in the total order; the first driver has all."""
    assert got.num_rows > 0
    assert got.combine_chunks().equals(wanted.slice(wanted.num_rows - got.num_rows).combine_chunks())


def by_key(table: pa.Table) -> dict[Any, list[tuple[Any, ...]]]:
    """Each key's rows in the order in which they stand."""
    key = "ticker" if "ticker" in table.column_names else "volume"
    rows: dict[Any, list[tuple[Any, ...]]] = {}
    for row in table.to_pylist():
        rows.setdefault(row[key], []).append(tuple(row.values()))
    return rows


def fill(folder: Path) -> Path:
    """Takes all the room there is on a disk, to the last byte."""
    ballast, size = folder / "ballast", 1 << 20
    with ballast.open("wb", buffering=0) as file:
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2
    return ballast
