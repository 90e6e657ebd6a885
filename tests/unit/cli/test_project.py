"""`penstock init` writes a project whose tests pass and whose application can be explained."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.commands import app
from tests.checkout import ROOT


@pytest.mark.slow
def test_a_new_project_passes_its_own_tests_and_is_explained(tmp_path: Path) -> None:
    folder = tmp_path / "my prices"
    output = CliRunner().invoke(app, ["init", str(folder)]).output
    assert f"  cd '{folder}'\n  pytest\n" in output
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}"}
    for words in (["pytest", "-q", "-p", "no:cacheprovider"], ["penstock", "explain", "application.py"]):
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "my_prices" in done.stdout


def test_a_folder_with_anything_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "application.py").write_text("mine", encoding="utf-8")
    done = CliRunner().invoke(app, ["init", str(tmp_path)])
    assert "new or empty folder" in str(done.exception)
    assert (tmp_path / "application.py").read_text(encoding="utf-8") == "mine"
