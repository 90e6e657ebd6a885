"""What `penstock run` says where it cannot start: one sentence, exit code 2, no traceback."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.faults.conftest import Mount
from tests.faults.runs import fill
from tests.spark.commands.test_run_command import APPLICATION, penstock


def test_a_master_that_does_not_answer(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # bound, and nobody listens
        master = f"spark://127.0.0.1:{probe.getsockname()[1]}"
        (tmp_path / "app.py").write_text(APPLICATION)
        done = penstock(tmp_path, "run", "app.py", "--master", master, "--checkpoint", "c")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"master '{master}' does not answer" in done.stderr


def test_a_checkpoint_on_a_full_disk(tmp_path: Path, small_disk: Mount) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    small_disk(tmp_path / "disk")
    fill(tmp_path / "disk")
    done = penstock(tmp_path, "run", "app.py", "--checkpoint", "disk/c")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "no space left on device; free some space or use another directory" in done.stderr
