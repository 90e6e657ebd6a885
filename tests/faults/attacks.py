"""Attacks by kind, each over one stream: several kills, a driver that finishes, the output held to `evaluate`."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.testing import Cluster
from tests.faults.driver import Wish
from tests.faults.orders import VARIABLE
from tests.faults.processes import executors, kill
from tests.faults.runs import Run, fill

POINTS = ("opening", "opened", "changed", "committing", "committed")
COPY_POINTS = ("copying", "marked", "rebuilt", "copied")
DRIVER_POINTS = ("planned", "computed", "published", "renamed", "delivered")
WITH_ROWS = ("prices", "two_windows")  # whose windows are rows, where orders are met
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a JVM that lives for seconds: half the CPU of a start
JAVA = {f"spark.{process}.extraJavaOptions": QUICK_START for process in ("driver", "executor")}
CONF = {"spark.executor.memory": "512m", "spark.task.maxFailures": "100", "spark.stage.maxConsecutiveAttempts": "100"}
_DISK_BYTES = "32m"


@dataclass(frozen=True, slots=True)
class Round:
    """One stream under one kind of attack; the seed decides when and where."""

    number: int
    kind: str
    application: str
    sink: str
    changing: bool
    seed: int


class Attacks:
    """Carries out rounds in folders of their own, and gives how many kills each made.

    A cluster is started when the first round needs one.  After so many minutes nothing more is killed.
    """

    def __init__(self, folder: Path, cluster: Callable[[], Cluster], minutes: float = math.inf) -> None:
        self._folder, self._cluster, self._end_s = folder, cluster, time.monotonic() + 60.0 * minutes
        self._by_kind: dict[str, Callable[[Round, random.Random], int]] = {
            "drivers": self._drivers,
            "workers": self._workers,
            "executors": self._executors,
            "copies": self._copies,
            "full disks": self._full_disks,
        }

    def __call__(self, round_: Round) -> int:
        return self._by_kind[round_.kind](round_, random.Random(round_.seed))

    def _drivers(self, own: Round, rng: random.Random) -> int:
        """Drivers that die at a point of a batch, in a start, or at any moment, with all their processes or alone."""
        with self._run(own, faulty=False, total=80_000) as run:
            for _ in self._lives():
                if rng.random() < 0.4:
                    points = [p for p in DRIVER_POINTS if own.sink == "parquet" or p != "renamed"]
                    run.start(replace(run.wish, die=(rng.choice(points), rng.randrange(5))))
                    if run.death() != -9:  # it was at its end before it came to the point
                        run.kills -= 1
                        break
                else:
                    run.start()
                    if rng.random() < 0.3:
                        run.wait_for_lease()
                    else:
                        run.wait_for_batches(rng.randint(1, 4))
                    time.sleep(rng.random() * 0.3)
                    if not run.is_running():
                        break
                    run.kill_driver(whole_group=rng.random() < 0.5)
            return _finished(run)

    def _workers(self, own: Round, rng: random.Random) -> int:
        """Python workers that die at points of a task, and at any moment."""
        with self._run(own, total=150_000) as run:
            if own.application in WITH_ROWS:
                for point in POINTS:
                    run.orders.give(f"{stateful(own)}.{point}", "die", after=rng.randint(1, 30))
            run.start()
            run.wait_for_batches(1)
            while run.kills < 45 and run.is_running() and self._has_time(run):
                run.kill_a_worker()
                time.sleep(rng.uniform(0.05, 0.6))
            run.check(run.finish())
            return run.kills + run.orders.carried_out()

    def _executors(self, own: Round, rng: random.Random) -> int:
        """Executors of a cluster that die at any moment, and at points of a task."""
        cluster = self._cluster()
        with self._run(own, master=cluster.url, conf=CONF, total=200_000, replicas=3) as run:
            if own.application in WITH_ROWS:
                for point in POINTS[1:]:
                    run.orders.give(f"{stateful(own)}.{point}", "kill_executor", after=rng.randint(4, 40))
            run.start()
            run.wait_for_batches(2)
            while run.kills < 10 and run.is_running() and self._has_time(run):
                found = executors(rng.choice(cluster.workers).pid)
                if found and kill(rng.choice(found)):
                    run.kills += 1
                time.sleep(rng.uniform(1.0, 3.0))
            run.check(run.finish())
            return run.kills + run.orders.carried_out()

    def _copies(self, own: Round, rng: random.Random) -> int:
        """Workers and executors that die in the middle of copying slots to another host."""
        cluster = self._cluster()
        own = replace(own, changing=True)
        with self._run(own, master=cluster.url, conf=CONF, total=200_000, replicas=3) as run:
            for place, point in enumerate(COPY_POINTS * 3):
                action = "kill_executor" if rng.random() < 0.3 else "die"
                run.orders.give(f"{stateful(own)}.{point}", action, after=place // 2)
            run.start()
            run.check(run.finish())
            return run.orders.carried_out()

    def _full_disks(self, own: Round, rng: random.Random) -> int:
        """A disk that fills up under a running driver, which says so in one sentence; once there is room it goes on."""
        with self._run(own, faulty=False, total=100_000, sink="parquet", master="local[2]") as run:
            folder = run.folder / rng.choice(("checkpoint", "out"))
            with small_disk(folder):
                for _ in self._lives():
                    run.start()
                    run.wait_for_batches(rng.randint(1, 4))
                    ballast = fill(folder)
                    code, error = run.failure()
                    ballast.unlink()
                    if code == 0:
                        break
                    assert code == 2, error
                    assert len(error.strip().splitlines()) == 1, error
                    assert "no space left on device" in error, error
                    run.kills += 1
                return _finished(run)

    def _lives(self) -> Iterator[int]:
        """The drivers of a round that are to die: the last one, which finishes, costs as much as two of them."""
        return itertools.takewhile(lambda number: not number or time.monotonic() < self._end_s, range(10))

    def _has_time(self, run: Run) -> bool:
        """Whether one more process may be killed; each round has one kill at least."""
        return not run.kills or time.monotonic() < self._end_s

    @contextlib.contextmanager
    def _run(
        self, own: Round, *, faulty: bool = True, conf: dict[str, str] | None = None, **wished: Any
    ) -> Iterator[Run]:
        folder = self._folder / f"round-{own.number}"
        _remove(folder)
        settings = {"spark.python.daemon.module": "tests.faults.daemon"} if faulty else {}
        settings["spark.executorEnv." + VARIABLE] = str(folder / "orders")
        wish = {"application": own.application, "sink": own.sink, "changing": own.changing} | wished
        run = Run(Wish(str(folder), conf=JAVA | settings | (conf or {}), **wish), own.seed)
        try:
            yield run
        finally:
            run.end()
        _remove(folder)  # where it went wrong it stays, to be looked at


def _finished(run: Run) -> int:
    """Has a last driver bring the stream to its end, where none was quick enough, and checks the output."""
    if run.process is not None and run.process.returncode == 0:
        run.check({})
    else:
        run.start()
        run.check(run.finish())
    return run.kills


def _remove(folder: Path) -> None:
    """Deletes what a round left, the small disk of one that was cut included."""
    for own in ("checkpoint", "out"):
        subprocess.run(["umount", "--lazy", str(folder / own)], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)


def stateful(own: Round) -> str:
    """The operator whose tasks have state, the last one of several."""
    return {"prices": "window", "two_windows": "spreads"}[own.application]


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of its own on a folder, in memory and small; after a failure `FOLDER-kept` has what was on it."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", str(folder)], check=True)
    try:
        yield
    except BaseException:
        shutil.copytree(folder, f"{folder}-kept", ignore=shutil.ignore_patterns("ballast"), dirs_exist_ok=True)
        raise
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
