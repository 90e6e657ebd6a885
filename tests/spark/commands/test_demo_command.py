"""`penstock demo` as a stranger would call it, where there is no terminal."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from penstock.control.journal.journal import read_journal


def test_the_demonstration_changes_replicas_compares_and_draws(tmp_path: Path) -> None:
    arguments = ["demo", "--quick", "--seconds", "12", "--rate", "20000", "--master", "local[2]", "--output", "made"]
    done = subprocess.run(
        [sys.executable, "-m", "penstock", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "starting Spark on local[2] ..." in done.stdout
    assert ": equal to the in-process engine's over the same" in done.stdout
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["demo.png", "demo.svg", "journal.jsonl"]
    recorded = read_journal(tmp_path / "made" / "journal.jsonl")
    replicas = [line.configuration.element("window").replicas for line in recorded.lines]
    changes = [after for before, after in pairwise(replicas) if before != after]
    assert replicas[0] == 2
    assert changes[:1] == [4]
    assert changes == [4, 3, 2][: len(changes)]  # a busy machine may reach the end before the last of them
    assert all(len(line.observation.replicas_by_element["window"]) == line.configuration.element("window").replicas
               for line in recorded.lines)  # fmt: skip
    assert sum(o.slots_rebuilt for o in recorded.observations) == 0
