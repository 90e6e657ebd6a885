"""`penstock evaluate --threads`: the same results, failures in one sentence, advice where threads do not help."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.cli import main

APP = """
import penstock as ps

def spins(row):
    total = 0
    for i in range(600_000):  # longer than the switch interval: every look at it is late
        total += i
    return {"x": 1000 // (row["x"] - 70)}

app = ps.Application("spinning")
app.source("numbers", schema={"x": "int64"}).map("spins", spins, {"x": "int64"}, per_tuple=True).sink("out")
"""


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spinning.py").write_text(APP)
    pq.write_table(pa.table({"x": list(range(100, 250))}), tmp_path / "numbers.parquet")
    pq.write_table(pa.table({"x": list(range(60, 80))}), tmp_path / "bad.parquet")


def evaluate(file: str, *options: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(("evaluate", "spinning.py", "--input", f"numbers={file}", "--block-rows", "1", *options))
    return ended.value.code


def test_results_are_the_same_and_an_operator_that_holds_the_gil_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("numbers.parquet", "--output", "one") == 0
    assert "holds the GIL" not in capsys.readouterr().out
    assert evaluate("numbers.parquet", "--output", "two", "--threads", "2", "--queue", "spins") == 0
    said = capsys.readouterr().out
    assert "operator 'spins' held the GIL in most samples: threads cannot speed it up; use replicas instead" in said
    assert pq.read_table("one/out.parquet").equals(pq.read_table("two/out.parquet"))


def test_a_failure_on_a_thread_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("bad.parquet", "--threads", "2", "--on-error", "fail") == 2
    said = capsys.readouterr().err
    assert "operator 'spins' failed with ZeroDivisionError" in said
    assert "spinning.py:8" in said
    assert "Traceback" not in said
