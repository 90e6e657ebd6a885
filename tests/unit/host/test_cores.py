"""Cores by affinity and by the quotas of control groups, read from trees laid out as Linux lays them out."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from penstock.host import cores as module
from penstock.host.cores import own_cores, quota_cores


def tree(folder: Path, own: str, files: dict[str, str]) -> tuple[Path, Path]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "own").write_text(own)
    return folder / "groups", folder / "own"


@pytest.mark.parametrize(
    ("own", "files", "cores"),
    [
        ("0::/\n", {"groups/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"groups/cpu.max": "max 100000\n"}, math.inf),
        ("0::/\n", {}, math.inf),
        (
            "0::/pods/one/box\n",
            {
                "groups/pods/one/box/cpu.max": "max 100000\n",
                "groups/pods/one/cpu.max": "50000 20000\n",
                "groups/pods/cpu.max": "800000 100000\n",
                "groups/other/cpu.max": "100000 100000\n",
            },
            2.5,
        ),
        (
            "4:memory:/box\n3:cpu,cpuacct:/box\n0::/\n",
            {
                "groups/cpu,cpuacct/box/cpu.cfs_quota_us": "300000\n",
                "groups/cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
                "groups/memory/box/cpu.cfs_quota_us": "1\n",
                "groups/memory/box/cpu.cfs_period_us": "100000\n",
            },
            3.0,
        ),
        (
            "1:cpu:/far/from/here\n",  # seen from outside: the container's own mount has its files at the top
            {"groups/cpu/cpu.cfs_quota_us": "200000\n", "groups/cpu/cpu.cfs_period_us": "100000\n"},
            2.0,
        ),
        ("1:cpu:/\n", {"groups/cpu/cpu.cfs_quota_us": "-1\n", "groups/cpu/cpu.cfs_period_us": "100000\n"}, math.inf),
        ("0::/\n", {"groups/cpu.max": "what 0\n"}, math.inf),
    ],
)
def test_the_least_quota_of_all_groups_counts(tmp_path: Path, own: str, files: dict[str, str], cores: float) -> None:
    assert quota_cores(*tree(tmp_path, own, files)) == cores


def test_there_is_no_quota_where_nothing_says_so(tmp_path: Path) -> None:
    assert quota_cores(tmp_path, tmp_path / "none") == math.inf


@pytest.mark.parametrize(
    ("quota", "affinity", "cores"), [(math.inf, 8, 8), (2.9, 8, 2), (0.3, 8, 1), (16.0, 8, 8), (3.0, 1, 1)]
)
def test_whole_cores_of_the_quota_and_of_the_affinity(
    monkeypatch: pytest.MonkeyPatch, quota: float, affinity: int, cores: int
) -> None:
    monkeypatch.setattr(module, "quota_cores", lambda: quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(affinity)))
    assert own_cores() == cores
