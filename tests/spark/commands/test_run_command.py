"""`penstock run` as a stranger would call it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

SMALL = """
import penstock as ps
app = ps.Application("small")
quotes = app.source("quotes", ps.sources.trace(rate="unbounded", keys=20, total=30_000))
quotes.aggregate("window", by="ticker", window=ps.tumbling(count=10, per_group=True),
                 emit={"ticker": "any(ticker)", "n": "count()"}).sink("out", ps.sinks.parquet("results"))
"""
FUNCTIONS = """
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
APPLICATION = SMALL + FUNCTIONS
ENDLESS = SMALL.replace('rate="unbounded"', "rate_tuples_s=5_000").replace(", total=30_000", "")
ENDLESS = ENDLESS.replace('ps.sinks.parquet("results")', "ps.sinks.discard()")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "penstock", *arguments]


def penstock(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True, timeout=600, check=False)


def test_an_application_runs_to_its_end_and_a_finished_checkpoint_says_so(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    options = ("run", "app.py", "--master", "local[2]", "--checkpoint", "c", "--set", "window.replicas=2")
    done = penstock(tmp_path, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert "30,000 tuples in" in done.stdout
    assert "finished: every source is exhausted; the checkpoint is c" in done.stdout
    assert "sink loud: 30,000 tuples" in done.stdout  # functions of a file that no worker can import
    assert "sink numbers: 30,000 tuples" in done.stdout
    assert f"sink out: files in {tmp_path / 'results'}" in done.stdout
    assert list((tmp_path / "results").glob("*.parquet"))
    again = penstock(tmp_path, *options)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.startswith("the checkpoint c is finished")


def interrupted(folder: Path) -> str:
    """What a run prints that gets Ctrl-C, as a terminal sends it to the whole group, once batches are done."""
    arguments = command("run", "app.py", "--master", "local[2]", "--checkpoint", "my checkpoint")
    output = folder / "output"
    with output.open("w") as file:
        running = subprocess.Popen(arguments, cwd=folder, stdout=file, stderr=file, start_new_session=True)
    try:
        deadline = time.monotonic() + 300
        while "micro-batches" not in output.read_text() and time.monotonic() < deadline and running.poll() is None:
            time.sleep(0.2)
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(timeout=120) == 0, output.read_text()
    finally:
        running.kill()
    return output.read_text()


def test_ctrl_c_ends_cleanly_and_its_command_goes_on_for_as_long_as_asked(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(ENDLESS)
    told = interrupted(tmp_path)
    assert "Traceback" not in told
    assert "stopped by Ctrl-C; to go on from here:" in told
    words = shlex.split(told.splitlines()[-1])
    assert words[:2] == ["penstock", "run"]
    assert words[words.index("--checkpoint") + 1] == "my checkpoint"
    done = penstock(tmp_path, *words[1:], "--duration", "4")
    assert (done.returncode, done.stderr) == (0, "")
    assert "stopped after 4 s; to go on from here:" in done.stdout


def test_wrong_settings_are_told_together_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    done = penstock(tmp_path, "run", "app.py", "--set", "windo.replicas=2", "--set", "block_rows=many")
    assert (done.returncode, done.stdout) == (2, "")
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [
        "--set windo.replicas",
        "--set block_rows is a whole number of at least 1; got 'many'",
    ]
