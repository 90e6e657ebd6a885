"""`import penstock as ps` has what users need, and is quick."""

from __future__ import annotations

import subprocess
import sys

import pytest

import penstock as ps


def test_every_name_of_the_facade_is_there() -> None:
    assert all(getattr(ps, name) is not None for name in ps.__all__)
    assert set(ps.__all__) <= set(dir(ps))


def test_a_program_needs_nothing_but_the_facade() -> None:
    app = ps.Application("halves")
    app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")
    assert ps.evaluate(app, {"numbers": {"x": [1, 2, 3]}})["out"].column("h").to_pylist() == [0.5, 1.0, 1.5]


def test_a_name_that_is_not_there_is_told() -> None:
    with pytest.raises(AttributeError, match="module 'penstock' has no attribute 'aplication'"):
        _ = ps.aplication


def test_importing_penstock_imports_nothing_heavy() -> None:
    script = "import sys, penstock; sys.exit(any(m in sys.modules for m in ('pyarrow', 'numpy', 'numba')))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
