"""`penstock run` as a stranger would call it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

APPLICATION = """
import penstock as ps
app = ps.Application("small")
quotes = app.source("quotes", ps.sources.trace(rate="unbounded", keys=20, total=30_000))
quotes.aggregate("window", by="ticker", window=ps.tumbling(count=10, per_group=True),
                 emit={"ticker": "any(ticker)", "n": "count()"}).sink("out", ps.sinks.parquet("results"))

class Nth:
    def __init__(self):
        self.seen = 0

class Numbered:
    def state(self):
        return Nth()
    def process(self, row, state):
        state.seen += 1
        return {"n": state.seen}

quotes.map("shout", lambda batch: {"ticker": batch["ticker"]}, {"ticker": "symbol"}).sink("loud", ps.sinks.discard())
quotes.operator("numbered", Numbered(), schema={"n": "int64"}, by="ticker").sink("numbers", ps.sinks.discard())
"""


def penstock(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)


def test_an_application_runs_to_its_end_and_says_where_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    done = penstock(
        tmp_path, "run", "app.py", "--master", "local[2]", "--checkpoint", "c", "--set", "window.replicas=2"
    )
    assert done.returncode == 0, done.stderr
    assert "30,000 tuples in" in done.stdout
    assert "checkpoint: c (run again with --checkpoint" in done.stdout
    assert "sink loud: 30,000 tuples" in done.stdout  # functions of a file that no worker can import
    assert "sink numbers: 30,000 tuples" in done.stdout
    assert done.stderr == ""
    assert list((tmp_path / "results").glob("*.parquet"))


def test_wrong_settings_are_told_together_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    done = penstock(tmp_path, "run", "app.py", "--set", "window=2", "--set", "block_rows=many")
    assert done.returncode == 2
    assert done.stderr.count("--set takes ELEMENT.replicas=N") == 2
