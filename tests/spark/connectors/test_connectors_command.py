"""Dead letters, errors and engines as a stranger meets them on the command line."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet

from tests.spark.commands.test_run_command import penstock

APPLICATION = """
import penstock as ps

def divided(row):
    return {"x": 10 // row["x"]}

app = ps.Application("small")
numbers = app.source("numbers", ps.sources.csv("numbers.csv"), {"x": "int64"})
numbers.map("divided", divided, {"x": "int64"}, per_tuple=True).sink("out", ps.sinks.parquet("results", ordered=True))
"""


def test_dead_letters_are_written_and_results_are_those_of_evaluate(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    (tmp_path / "numbers.csv").write_text("x\n1\n0\nx\n5\n")
    done = penstock(tmp_path, "run", "app.py", "--master", "local[2]", "--dead-letters", "dead")
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 dead letters" in done.stdout
    (path,) = (tmp_path / "results").glob("*.parquet")
    assert pyarrow.parquet.read_table(path)["x"].to_pylist() == [10, 2]
    letters = sorted(p.name for p in (tmp_path / "dead").iterdir() if p.name[0] not in "._")  # those are Penstock's own
    assert letters == ["batch-000000000000.parquet", "before-all.parquet"]
    same = penstock(tmp_path, "evaluate", "app.py", "--engine", "spark", "--master", "local[2]", "--output", "again")
    assert same.returncode == 0, same.stderr
    assert pyarrow.parquet.read_table(tmp_path / "again" / "out.parquet")["x"].to_pylist() == [10, 2]


def test_an_error_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    (tmp_path / "numbers.csv").write_text("x\n1\n0\n")
    done = penstock(tmp_path, "run", "app.py", "--master", "local[2]", "--on-error", "fail")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("operator 'divided' ")
    assert line.endswith("got {\"x\": 0}; on_error='fail' stops at the first such tuple")


def test_wrong_options_are_told_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    (tmp_path / "numbers.csv").write_text("x\n1\n")
    done = penstock(tmp_path, "run", "app.py", "--on-error", "ignore")
    assert (done.returncode, done.stderr) == (2, "--on-error is dead_letter or fail; got 'ignore'\n")
    done = penstock(tmp_path, "evaluate", "app.py", "--engine", "sparc")
    assert (done.returncode, done.stderr) == (2, "--engine is inprocess or spark; got 'sparc'\n")
