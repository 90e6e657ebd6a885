"""A random user id, as containers give one: no home directory, no entry in the user database, no environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.spark.session.unknown_user import is_unknown, with_home
from tests.checkout import ROOT

UNKNOWN = 61_234
PROGRAM = """
import os
import penstock as ps

class Numbered:
    def state(self):
        return {"n": 0}
    def process(self, row, state):
        state["n"] += 1
        return {"ticker": row["ticker"], "n": state["n"]}

app = ps.Application("small")
trades = app.source("trades", ps.sources.trace("unbounded", keys=5, total=1000))
emit = {"ticker": "any(ticker)", "volume": "sum(volume)"}
trades.aggregate("window", by="ticker", window=ps.sliding(count=3, per_group=True), emit=emit).sink("out")
trades.operator("numbered", Numbered(), schema={"ticker": "string", "n": "int64"}, by="ticker").sink("numbers")
trace = app.graph.sources[0].connector.table(0, 1000)
expected = ps.evaluate(app, {"trades": trace})
app = ps.Application("small")
trades = app.source("trades", ps.sources.trace("unbounded", keys=5, total=1000))
windows = trades.aggregate("window", by="ticker", window=ps.sliding(count=3, per_group=True), emit=emit)
windows.sink("out", ps.sinks.memory())
trades.operator("numbered", Numbered(), schema={"ticker": "string", "n": "int64"}, by="ticker").sink(
    "numbers", ps.sinks.memory()
)
result = ps.run(app, master="local[2]")
same = [result.tables[name].to_pylist() == expected[name].to_pylist() for name in ("out", "numbers")]
print("same" if all(same) else "different", os.getuid())
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Temporary files that every user may make; pytest's are the tester's own."""
    path = Path(tempfile.mkdtemp(dir="/tmp"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def run(folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM)
    bare = {"PATH": os.defpath, "PYTHONPATH": f"{ROOT}/src", "TMPDIR": str(folder)}
    bare |= {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
    command = [*before, sys.executable, "-B", str(folder / "program.py")]
    return subprocess.run(command, env=bare, cwd="/", capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.long
def test_a_user_without_environment_runs_an_application(folder: Path) -> None:
    ran = run(folder)
    assert ran.stdout == f"same {os.getuid()}\n", ran.stderr


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="only root can become another user")
def test_a_user_id_that_nobody_knows_runs_an_application(folder: Path) -> None:
    # It may read everything, as an interpreter in root's home needs, and write nothing but its own.
    may_read = ("--inh-caps", "-all,+dac_read_search", "--ambient-caps", "-all,+dac_read_search")
    become = ("setpriv", "--reuid", str(UNKNOWN), "--regid", str(UNKNOWN), "--clear-groups", *may_read)
    if subprocess.run([*become, sys.executable, "-c", "import os"], capture_output=True, check=False).returncode:
        pytest.skip("another user may not run this interpreter")
    ran = run(folder, *become)
    assert ran.stdout == f"same {UNKNOWN}\n", ran.stderr
    assert {path.stat().st_uid for path in folder.iterdir() if path.name.startswith("penstock")} == {UNKNOWN}


def test_java_is_given_a_home_that_the_user_database_does_not_know(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert not is_unknown()
    assert with_home({"a": "b"}) == {"a": "b"}
    monkeypatch.setattr("penstock.spark.session.unknown_user.is_unknown", lambda: True)
    settings = with_home({"spark.driver.extraJavaOptions": "-Xss4m", "spark.jars.ivy": "mine"})
    home = f"{tmp_path}/penstock-{os.getuid()}/home"
    own = f"-Duser.home={home} -Duser.name=uid-{os.getuid()} -Xss4m"
    assert settings == {"spark.jars.ivy": "mine", "spark.driver.extraJavaOptions": own}
