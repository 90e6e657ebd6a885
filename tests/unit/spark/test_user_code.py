"""Which files may make workers import anew."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import penstock as ps
from penstock.spark.session.user_code import user_files


def test_only_the_users_own_modules_count_and_entries_that_are_none_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = ModuleType("own_of_the_user")
    own.__file__ = str(tmp_path / "own_of_the_user.py")
    Path(own.__file__).write_text("x = 1")
    monkeypatch.setitem(sys.modules, "own_of_the_user", own)
    monkeypatch.setitem(sys.modules, "absent_package", None)  # type: ignore[arg-type]
    found = user_files()
    assert found[own.__file__][1] == len("x = 1")
    assert str(ps.__file__) not in found
    assert str(np.__file__) not in found
