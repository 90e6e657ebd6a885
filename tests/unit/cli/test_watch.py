"""`penstock watch`, `report`, `compare` and `journal --export` over a run that was made up."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest

from penstock.cli import main
from penstock.cli.watch.compare import _or_none, _plain, _shown
from penstock.watch.notebook import handle_html
from tests.reference.made_run import MARKUP, lease, seen, write_run


def ran(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(str(ended.value.code))


def test_watch_prints_its_link_first_and_serves(tmp_path: Path) -> None:
    write_run(tmp_path)
    command = [sys.executable, "-m", "penstock", "watch", str(tmp_path), "--token-file", str(tmp_path / "token")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.fullmatch(r"dashboard: (http://127\.0\.0\.1:\d+/)\n", first)
        assert found is not None
        assert httpx.get(f"{found[1]}healthz", timeout=30).json()["status"] == "ok"
        with httpx.stream("GET", f"{found[1]}api/events", timeout=30) as events:
            lines = [line for line, _ in zip(events.iter_lines(), range(12), strict=False)]
        assert "event: run" in lines
        assert "id: 59" in lines
        assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_lines_of_json_end_with_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path)
    assert ran("watch", str(tmp_path), "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["status"], body["batch"], body["decision"]["policy"]) == ("stopped", 59, "mpc")


def test_without_a_terminal_lines_are_plain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path)
    assert ran("watch", str(tmp_path), "--terminal") == 0
    out = capsys.readouterr().out
    assert "Stopped. Met p95 <= 500 ms in 27 of 30 control steps." in out
    assert "arrivals 2,006" in out


def test_the_terminal_shows_the_same_facts(tmp_path: Path) -> None:
    from rich.console import Console

    from penstock.watch.recorded.run_reader import RunReader
    from penstock.watch.terminal.run_view import view

    reader = RunReader(write_run(tmp_path))
    reader.open()
    screen = Console(width=140, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    screen.print(view(reader))
    text = screen.export_text()
    parts = (
        "prices  stopped",
        "Met p95",
        "· window",
        "2 replicas -> 3 replicas",
        "q ends",
        "changes, settled within",
    )
    for part in (*parts, "goal broken in 3 of 30 steps", "statically provisioned", "checkpoint"):
        assert part in text
    screen.print(view(reader, with_holds=False, with_operators=False))
    assert "hold" not in screen.export_text().replace("or hides holds", "")


def test_long_reasons_leave_room_for_steps_and_settings(tmp_path: Path) -> None:
    from rich.console import Console

    from penstock.watch.recorded.run_reader import RunReader
    from penstock.watch.terminal.run_view import view

    reader = RunReader(write_run(tmp_path))
    reader.open()
    long = [replace(own, decision=replace(own.decision, because="demand " * 50)) for own in reader.state.decisions]
    reader.state.decisions.clear()
    reader.state.decisions.extend(long)
    screen = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    screen.print(view(reader))
    text = screen.export_text()
    assert re.search(r"^ +20 +00:\d\d +3 replicas -> 2 replicas +demand", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["watch", "--terminal", "--json"], "--terminal and --json are two ways to show the same"),
        (["watch", "--host", "256.0.0.1"], "the dashboard cannot listen on 256.0.0.1:0"),
        (["watch", "--metrics", "x", "--json"], "--metrics is PORT or HOST:PORT; got 'x'"),
    ],
)
def test_what_cannot_be_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    write_run(tmp_path)
    assert ran(arguments[0], str(tmp_path), *arguments[1:]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("command", [["watch"], ["report"], ["journal", "--export", "x"]])
def test_a_folder_without_a_journal_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert ran(command[0], str(tmp_path), *command[1:]) == 2
    assert "has no journal" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["watch"], ["report"], ["compare", "none"]])
def test_a_folder_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert ran(command[0], "none", *command[1:]) == 2
    assert "there is no file or folder 'none'; give the checkpoint of a run" in capsys.readouterr().err


def test_a_report_is_one_page_that_needs_nothing_else(tmp_path: Path) -> None:
    write_run(tmp_path, names=("quotes", MARKUP, "window", "</script><b>"))
    assert ran("report", str(tmp_path), "--output", str(tmp_path / "r.html")) == 0
    text = (tmp_path / "r.html").read_text()
    assert not re.search(r'(src|href)="(/|http)', text)
    assert MARKUP not in text
    (data,) = re.findall(r'<script type="application/json" id="recorded">(.*?)</script>', text, re.DOTALL)
    body = json.loads(data)
    assert body["/api/run"]["graph"]["operators"][1]["name"] == MARKUP
    assert set(body["opened"]) == {str(row["step"]) for row in body["/api/decisions"]["decisions"]}


def test_two_runs_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "a", 60)
    write_run(tmp_path / "b", 20)
    assert ran("compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["a"]["tuples_in"], body["b"]["tuples_in"]) == (60_000, 20_000)
    assert body["a"]["p95_highest_ms"] == 700.0
    assert body["a"]["cost"] == pytest.approx(body["a"]["core_hours"] * 0.05)
    assert ran("compare", str(tmp_path / "a"), str(tmp_path / "b")) == 0
    assert "steps that broke the goal" in capsys.readouterr().out


def test_an_export_has_units(tmp_path: Path) -> None:
    write_run(tmp_path)
    assert ran("journal", str(tmp_path), "--export", str(tmp_path / "out")) == 0
    batches = pq.read_table(tmp_path / "out" / "micro_batches.parquet")
    assert batches.num_rows == 60
    assert batches.schema.field("p95_ms").metadata == {b"unit": b"ms"}
    assert batches.schema.field("arrivals_tuples_s").metadata == {b"unit": b"tuples/s"}
    assert pq.read_table(tmp_path / "out" / "decisions.parquet").num_rows == 30
    assert pq.read_table(tmp_path / "out" / "replicas.parquet").num_rows > 200


def test_a_notebook_shows_figures_and_the_link(tmp_path: Path) -> None:
    text = handle_html("<b>", [seen(3)], "http://127.0.0.1:1/")
    assert "&lt;b&gt;" in text
    assert "throughput" in text
    assert 'href="http://127.0.0.1:1/"' in text


def test_a_running_one_is_running(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path, end=None)
    lease(tmp_path, 2**22 + 1)
    assert ran("watch", str(tmp_path), "--json") == 0
    assert json.loads(capsys.readouterr().out)["status"] == "interrupted"


@pytest.mark.parametrize("text", ["nothing\n", "{}", "x,k\n1,2", "{" * 20])
@pytest.mark.parametrize("command", ["watch", "report", "compare"])
def test_a_file_that_is_no_journal_is_refused(
    command: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text(text)
    assert ran(command, "notes.txt", *(["notes.txt"] if command == "compare" else [])) == 2
    assert "is not a journal; give a checkpoint, or the file journal.jsonl in it" in capsys.readouterr().err


def test_a_journal_that_is_not_there_has_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert ran("journal", "nowhere") == 2
    assert capsys.readouterr().err == (
        "the journal 'nowhere' cannot be read: no such file or directory; "
        "give the checkpoint of a run, or its journal.jsonl\n"
    )


def test_compare_shows_large_figures_in_full() -> None:
    assert [_plain(value) for value in (5_598.0, 0.825, 3)] == ["5,598", "0.825", "3"]
    assert (_shown(None, _or_none), _shown(None, _plain)) == ("none", "not measured")


def test_a_viewer_needs_nothing_that_only_applications_need(tmp_path: Path) -> None:
    viewers = (
        "penstock.cli.watch.command", "penstock.watch.page.serving", "penstock.watch.terminal.run_view",
        "penstock.watch.metrics", "penstock.watch.notebook",
    )  # fmt: skip
    path = write_run(tmp_path)
    code = (
        f"import sys, pathlib, penstock.watch, {', '.join(viewers)}\n"
        "from penstock.watch.recorded import facts, run_reader\n"
        f"reader = run_reader.RunReader(pathlib.Path({str(path)!r})); reader.open(); facts.run_body(reader)\n"
        "print({'numba', 'pandas', 'pyarrow', 'pyspark'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
