"""`penstock demo` as a stranger would call it, where there is no terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from penstock.control.journal.journal import read_journal
from penstock.control.journal.recorded_decision import judged_decisions


def test_the_demonstration_tunes_itself_compares_and_draws(tmp_path: Path) -> None:
    arguments = ["demo", "--quick", "--seconds", "12", "--rate", "1500", "--master", "local[2]", "--output", "made"]
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
    decisions = [own.decision for own in judged_decisions(recorded)]
    assert decisions
    assert f"of {len(decisions)} control steps" in done.stdout
    assert all(own.decided.replicas <= 8 for own in decisions)
    assert sum(o.slots_rebuilt for o in recorded.observations) == 0
