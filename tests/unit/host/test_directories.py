"""Directories of a user who has no home."""

from __future__ import annotations

import os
import pwd
import tempfile
from pathlib import Path

import numba
import pytest

from penstock.host.directories import cache_directory, use_numba_cache


def test_a_user_without_a_home_has_a_cache_among_the_temporary_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def nobody(uid: int) -> None:
        raise KeyError(uid)

    for name in ("HOME", "XDG_CACHE_HOME", "PENSTOCK_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache_directory() == tmp_path / f"penstock-{os.getuid()}" / "cache"


@pytest.mark.parametrize(
    ("home", "is_set"), [("writable", False), ("not there/deep", False), ("file", True), (None, True)]
)
def test_numba_is_given_a_cache_where_it_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str | None, is_set: bool
) -> None:
    (tmp_path / "writable").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", "")
    if home is None:
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as without a home
    else:
        monkeypatch.setenv("HOME", str(tmp_path / home))
    use_numba_cache()
    expected = f"{tmp_path}/penstock-{os.getuid()}/numba" if is_set else ""
    assert (os.environ.get("NUMBA_CACHE_DIR", ""), numba.core.config.CACHE_DIR) == (expected, expected)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
