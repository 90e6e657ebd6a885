"""Runs under attack, each ended with all its processes whatever happens, and a cluster to attack."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.testing import Cluster, loopback_cluster
from tests.faults.driver import Wish
from tests.faults.orders import VARIABLE
from tests.faults.runs import Run

Attack = Callable[..., Run]
Mount = Callable[[Path], None]


@pytest.fixture
def attack(tmp_path: Path) -> Iterator[Attack]:
    """Makes a run in a folder of its own; `faulty` has its workers obey orders, `seed` chooses the moments."""
    runs: list[Run] = []

    def make(*, faulty: bool = True, seed: int = 5, conf: dict[str, str] | None = None, **wished: Any) -> Run:
        folder = tmp_path / f"run-{len(runs)}"
        own = {"spark.python.daemon.module": "tests.faults.daemon"} if faulty else {}
        own["spark.executorEnv." + VARIABLE] = str(folder / "orders")
        runs.append(Run(Wish(str(folder), conf=own | (conf or {}), **wished), seed))
        return runs[-1]

    yield make
    for run in runs:
        run.end()


@pytest.fixture
def small_disk() -> Iterator[Mount]:
    """Mounts a file system of its own, in memory and small, on a folder; skips where that is not allowed."""
    mounted: list[Path] = []

    def mount(folder: Path) -> None:
        folder.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("may not mount a file system here")
        mounted.append(folder)

    yield mount
    for folder in mounted:  # what was on it is there to be looked at when the test has failed
        shutil.copytree(folder, f"{folder}-kept", ignore=shutil.ignore_patterns("ballast"))
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with loopback_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running
