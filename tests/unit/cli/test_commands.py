"""The commands as a user calls them: what they print, what they write, how they end."""

from __future__ import annotations

import io
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import __version__
from penstock.cli import INTERRUPTED, WRONG, main
from penstock.state.checkpoint.checkpoint import Checkpoint

APP = """
import penstock as ps

class Picky:
    def state(self):
        return []
    def process(self, row, state):
        if row["x"] == 3:
            raise ValueError("no threes")
        return {"x": row["x"]}

app = ps.Application("picky")
numbers = app.source("numbers", schema={"x": "int64"})
numbers.functor("positive", where="x > 0").operator("own", Picky(), schema={"x": "int64"}).sink("out")
"""


@dataclass(frozen=True)
class Ended:
    code: object
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def penstock(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        text = capsys.readouterr()
        return Ended(caught.value.code, text.out, text.err)

    (tmp_path / "picky.py").write_text(APP)
    pq.write_table(pa.table({"x": [1, -2, 3, 4]}), tmp_path / "numbers.parquet")
    return run


def test_help_names_every_command_and_gives_examples(penstock: Run) -> None:
    ended = penstock("--help")
    assert ended.code == 0
    for command in ("evaluate", "run", "explain", "journal", "replay", "candlesticks", "generate", "demo"):
        assert command in ended.out
        assert f"penstock {command} " in penstock(command, "--help").out
    assert "bench" not in ended.out


def test_checkpoint_copy_says_what_the_copy_is(penstock: Run) -> None:
    app = ps.Application("copied")
    app.source("trades", ps.sources.trace(total=10)).sink("out", ps.sinks.csv("results"))
    Checkpoint("a").fix(app.graph, slots=8, now_s=0.0, dumps=lambda value, what: pickle.dumps(value))
    ended = penstock("checkpoint", "copy", "a", "b", "--sink", "out=staging")
    assert ended.code == 0, ended.err
    assert re.fullmatch(
        rf"{Path.cwd()}/b goes on before the first micro-batch, as run [0-9a-f]{{16}}\n"
        rf"sink out: files in {Path.cwd()}/staging\n",
        ended.out,
    )
    assert "penstock checkpoint copy " in penstock("checkpoint", "copy", "--help").out
    for arguments, sentence in (
        (("a", "b"), "the copy goes to a new directory; got"),
        (("a", "c", "--sink", "out"), "--sink is NAME=DIR; got 'out'"),
        (("nothing", "c"), "has no checkpoint to copy"),
    ):
        ended = penstock("checkpoint", "copy", *arguments)
        assert (ended.code, ended.out) == (WRONG, "")
        assert sentence in ended.err
        assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [(), ("vwap", "--quick"), ("--help",)])
def test_bench_says_where_the_benchmarks_went(penstock: Run, arguments: tuple[str, ...]) -> None:
    ended = penstock("bench", *arguments)
    assert (ended.code, ended.out) == (WRONG, "")
    assert ended.err.startswith("the benchmarks are not part of the installed package; run them in a clone of ")
    assert ended.err.endswith("with: python -m benchmarks\n")


def test_help_needs_neither_arrow_nor_numba() -> None:
    script = (
        "import sys; from penstock.cli.commands import app; app(args=['--help'], standalone_mode=False); "
        "sys.exit(any(name in sys.modules for name in ('pyarrow', 'numba', 'numpy', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0


def test_python_m_penstock_prints_the_version() -> None:
    done = subprocess.run([sys.executable, "-m", "penstock", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"penstock {__version__}\n"


def test_evaluate_shows_and_writes_results_and_dead_letters(penstock: Run) -> None:
    ended = penstock("evaluate", "picky.py", "--input", "numbers=numbers.parquet", "--output", "made/here")
    assert (ended.code, ended.err) == (0, "")
    assert "4 tuples in, 2 to out" in ended.out
    assert "1 dead letter" in ended.out
    assert "no threes" in ended.out
    assert pq.read_table("made/here/out.parquet").column("x").to_pylist() == [1, 4]
    assert pq.read_table("made/here/dead_letters.parquet").column("operator").to_pylist() == ["own"]
    assert sorted(path.name for path in Path("made/here").iterdir()) == ["dead_letters.parquet", "out.parquet"]


def test_evaluate_taps_streams_and_writes_csv(penstock: Run) -> None:
    options = ("--tap", "positive=taps", "--format", "csv", "--output", "made", "--rows", "1")
    ended = penstock("evaluate", "picky.py:app", "--input", "numbers=numbers.parquet", *options)
    assert "first 1 of 3" in ended.out
    assert Path("taps/positive.csv").read_text().split() == ['"x"', "1", "3", "4"]
    assert Path("made/out.csv").exists()
    assert not Path("made/positive.csv").exists()


def test_lists_and_coded_strings_go_into_csv_as_text(penstock: Run) -> None:
    Path("lists.py").write_text(
        "import penstock as ps\napp = ps.Application('lists')\n"
        "s = app.source('s', schema={'k': 'symbol', 'x': 'int64'})\n"
        "s.aggregate('a', by='k', window=ps.tumbling(count=2, per_group=True),"
        " emit={'k': 'any(k)', 'all': 'collect(x)'}).sink('out')\n"
    )
    pq.write_table(pa.table({"k": ["a", "a"], "x": [1, 2]}), "s.parquet")
    ended = penstock("evaluate", "lists.py", "--input", "s=s.parquet", "--format", "csv", "--output", "made")
    assert (ended.code, ended.err) == (0, "")
    assert "[1, 2]" in ended.out
    assert Path("made/out.csv").read_text().split("\n")[1] == '"a","[1, 2]"'


def test_on_error_fail_stops_with_a_sentence(penstock: Run) -> None:
    ended = penstock("evaluate", "picky.py", "--input", "numbers=numbers.parquet", "--on-error", "fail")
    assert ended.code == WRONG
    assert "no threes" in ended.err
    assert "Traceback" not in ended.err


def test_all_bad_options_are_reported_at_once(penstock: Run) -> None:
    Path("file").write_text("")
    ended = penstock(
        "evaluate", "picky.py", "--input", "number=numbers.parquet", "--input", "oops", "--tap", "positiv",
        "--format", "xml", "--block-rows", "0", "--on-error", "ignore",
        "--output", "file", "--data-dir", "nowhere", "--rows", "-1",
        "--threads", "0", "--queue", "odd",
    )  # fmt: skip
    assert ended.code == WRONG
    lines = ended.err.splitlines()
    for expected in (
        "--format is parquet or csv; got 'xml'",
        "--on-error is dead_letter or fail; got 'ignore'",
        "--block-rows is at least 1; got 0",
        "--rows is at least 0; got -1",
        "--threads is a whole number from 1 to 64; got 0",
        "application 'picky' has no operator 'odd' to put a queue in front of; it has: positive, own, out",
        "--data-dir is a directory; got nowhere, which is not",
        "--output is a directory; got file, which is a file",
        "--input is NAME=FILE; got 'oops'",
        "application 'picky' has no source 'number'; it has: numbers; did you mean 'numbers'?",
        "source 'numbers' has no file of its own; add --input numbers=FILE",
    ):
        assert expected in lines
    assert any(line.endswith("did you mean 'positive'?") for line in lines)
    assert len(lines) == 12


def test_bounds_of_threads_are_told_of_in_a_whole_sentence(penstock: Run) -> None:
    ended = penstock("evaluate", "picky.py", "--input", "numbers=numbers.parquet", "--threads", "elastic:0-4")
    assert ended.code == WRONG
    assert ended.err.startswith("the threads of element 'picky' are bounded within 1 to 64")


def test_a_folder_without_files_is_no_input(penstock: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ended = penstock("evaluate", "picky.py", "--input", f"numbers={tmp_path / 'empty'}")
    assert "/empty, which is a folder without files" in ended.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--input", "numbers=gone.csv"), "source 'numbers' reads the file gone.csv, which is not there"),
        (("--input", "numbers=a", "--input", "numbers=b"), "--input names source 'numbers' twice"),
    ],
)
def test_inputs_that_cannot_be_used(penstock: Run, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in penstock("evaluate", "picky.py", *arguments).err.splitlines()


def test_an_application_that_keeps_nothing_is_told_to_tap(penstock: Run) -> None:
    Path("a.spade").write_text('[Program] stream A(x:Long) := Source()["file:a.dat", csvformat]{}')
    Path("a.dat").write_text("1\n")
    ended = penstock("evaluate", "a.spade")
    assert ended.err.strip() == "application 'a' has no sink, so it has no results; add --tap STREAM (A)"
    assert "1 tuple in, 1 to A" in penstock("evaluate", "a.spade", "--tap", "A").out


def test_a_sources_own_file_is_looked_up_in_the_data_directory(penstock: Run) -> None:
    Path("a.spade").write_text('[Program] stream A(x:Long) := Source()["file:a.dat", csvformat]{}')
    Path("data").mkdir()
    Path("data/a.dat").write_text("1\n2\n")
    assert (
        "which is not there; add --data-dir DIR or --input A=FILE" in penstock("evaluate", "a.spade", "--tap", "A").err
    )
    assert "2 tuples in" in penstock("evaluate", "a.spade", "--tap", "A", "--data-dir", "data").out


def test_mistakes_of_an_application_are_all_told_and_nothing_runs(penstock: Run) -> None:
    Path("wrong.py").write_text(APP.replace("x > 0", "y > 0").replace('{"x": "int64"}).sink', '{"x": "int46"}).sink'))
    ended = penstock("explain", "wrong.py")
    assert ended.code == WRONG
    assert len(ended.err.splitlines()) == 2
    assert "wrong.py:14" in ended.err


def test_explain_draws_says_and_pictures(penstock: Run) -> None:
    ended = penstock("explain", "penstock.cli.demo.vwap:vwap_per_ticker", "--picture", "made/graph.svg")
    assert (ended.code, ended.err) == (0, "")
    for expected in (
        "┌",
        "▼",
        "sliding count 4 every 1 per group",
        "bytes per key (in its compiled kernel)",
        "512",
    ):
        assert expected in ended.out
    assert Path("made/graph.svg").read_text().startswith("<?xml")


def test_explain_as_json_is_one_object(penstock: Run) -> None:
    found = json.loads(penstock("explain", "picky.py", "--json").out)
    assert [operator["name"] for operator in found["operators"]] == ["numbers", "positive", "own", "out"]
    assert found["operators"][2]["parallelism"]["limit"] == 1


def test_a_picture_of_another_kind_is_refused(penstock: Run) -> None:
    ended = penstock("explain", "picky.py", "--picture", "graph.gif")
    assert ended.err.strip() == "--picture is a file that ends in .svg or .png; got graph.gif"


def test_generate_writes_the_same_bytes_for_the_same_seed(penstock: Run) -> None:
    for folder in ("one", "two"):
        assert penstock("generate", "all", "--rows", "50", "--seed", "3", "--output", folder).code == 0
    names = sorted(path.name for path in Path("one").iterdir())
    assert len(names) == 6
    assert all((Path("one") / name).read_bytes() == (Path("two") / name).read_bytes() for name in names)


def test_generate_tells_what_there_is(penstock: Run) -> None:
    ended = penstock("generate", "trade", "--rows", "0")
    first, second = ended.err.splitlines()
    assert first.startswith("there is no data called 'trade'; there are: all, trades, ")
    assert first.endswith("did you mean 'trades'?")
    assert second == "--rows is at least 1; got 0"
    ended = penstock("generate", "trades", "--rows", "9" * 20)
    assert (ended.code, ended.err.strip()) == (
        WRONG, "--rows is at most 1000000000, since data is made in memory; got 99999999999999999999"
    )  # fmt: skip


def test_generate_tells_where_it_cannot_write(penstock: Run) -> None:
    Path("file").write_text("")
    ended = penstock("generate", "trades", "--rows", "10", "--output", "file/below")
    assert (ended.code, ended.err.strip()) == (WRONG, "cannot write into file/below: Not a directory")


@pytest.mark.parametrize(
    "arguments", [("evaluate",), ("frobnicate",), ("evaluate", "picky.py", "--nosuch"), ("demo", "--seconds", "x")]
)
def test_usage_errors_end_with_2_and_no_traceback(penstock: Run, arguments: tuple[str, ...]) -> None:
    ended = penstock(*arguments)
    assert ended.code == WRONG
    assert "Traceback" not in ended.err


def test_ctrl_c_ends_with_130(penstock: Run) -> None:
    Path("slow.py").write_text("raise KeyboardInterrupt")
    assert penstock("explain", "slow.py").code == INTERRUPTED


def test_what_nobody_foresaw_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("penstock.cli.explain.load_application", broken)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        main(["explain", "picky.py"])


def test_demo_tells_bad_options(penstock: Run) -> None:
    Path("file").write_text("")
    ended = penstock("demo", "--seconds", "1", "--rate", "2", "--output", "file")
    assert ended.err.splitlines() == [
        "--seconds is at least 5; got 1",
        "--rate is at least 100 tuples a second; got 2",
        "--output is a directory; got file, which is a file",
    ]


def test_a_file_name_that_the_system_refuses_has_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explain", "x" * 5_000 + ".py"])
    assert ended.value.code == WRONG
    assert capsys.readouterr().err.endswith("cannot be used: file name too long\n")


def test_explain_names_the_default_fusion(penstock: Run) -> None:
    out = penstock("explain", "penstock.cli.demo.vwap:vwap_per_ticker").out
    assert "elements (the default fusion: none is requested)" in out


def test_an_output_that_is_full_has_its_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "penstock", "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (ended.returncode, ended.stderr) == (WRONG, "the output cannot be used: no space left on device\n")


def test_letters_that_the_output_cannot_write_are_question_marks(
    penstock: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", output)
    app = ps.Application("letters")
    app.source("größe", schema={"x": "int64"}).sink("out")
    Path("app.json").write_text(app.to_json())
    assert penstock("explain", "app.json").code == 0
    output.flush()
    assert b"gr??e" in output.buffer.getvalue()


def test_ctrl_c_while_commands_are_imported_ends_it_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def find_spec(self, name: str, *more: object) -> None:
            if name == "penstock.cli.commands":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "penstock.cli.commands", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == INTERRUPTED


def test_evaluate_of_a_trace_without_an_end_says_what_to_give(penstock: Run) -> None:
    Path("endless.py").write_text(
        "import penstock as ps\napp = ps.Application('endless')\n"
        "app.source('quotes', ps.sources.trace('step')).sink('out')\n"
    )
    ended = penstock("evaluate", "endless.py")
    assert (ended.code, ended.out) == (WRONG, "")
    assert ended.err == "source 'quotes' reads a stream without end; add --input quotes=FILE\n"
