"""Where a host keeps its slots: on a cluster in what the cluster gave the executor."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from penstock.host.directories import host_directory


@pytest.mark.parametrize(
    ("variable", "value"),
    [("SPARK_EXECUTOR_DIRS", "{0}/a:{0}/b"), ("LOCAL_DIRS", "{0}/a,{0}/b"), ("LOCAL_DIRS", "{0}/a")],
)
def test_an_executor_s_first_directory_is_its_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value.format(tmp_path))
    assert host_directory("c", "window").startswith(f"{tmp_path}/a/")


def test_without_a_cluster_it_is_not_a_directory_of_an_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_EXECUTOR_DIRS", raising=False)
    monkeypatch.setenv("LOCAL_DIRS", "")
    assert host_directory("c", "window").startswith(("/dev/shm/", tempfile.gettempdir()))
