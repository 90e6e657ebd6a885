"""APP on the command line: every form, and a sentence for every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from penstock.cli.application import load_application

ONE = """
import penstock as ps
app = ps.Application("one")
app.source("s", schema={"x": "int64"}).functor("f", where="x > 0").sink("out")
"""


def written(folder: Path, text: str, name: str = "program.py") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def sentence(text: str) -> str:
    with pytest.raises(ps.errors.PenstockError) as caught:
        load_application(text)
    return str(caught.value)


def test_the_only_application_of_a_file_needs_no_name(tmp_path: Path) -> None:
    assert load_application(written(tmp_path, ONE)).name == "one"


def test_an_application_known_under_two_names_is_still_the_only_one(tmp_path: Path) -> None:
    assert load_application(written(tmp_path, ONE + "same = app")).name == "one"


def test_a_function_that_returns_one_will_do(tmp_path: Path) -> None:
    text = "import penstock as ps\ndef build() -> ps.Application:\n    return ps.Application('built')\n"
    assert load_application(written(tmp_path, text)).name == "built"
    assert load_application(written(tmp_path, text) + ":build").name == "built"


def test_functions_with_arguments_to_fill_in_are_not_candidates(tmp_path: Path) -> None:
    text = ONE.replace("app = ps", "def other(n: int) -> ps.Application: ...\napp = ps")
    assert load_application(written(tmp_path, text)).name == "one"


def test_a_file_can_import_its_neighbours(tmp_path: Path) -> None:
    written(tmp_path, "NAME = 'neighbour'", "neighbour_of_program.py")
    text = "import penstock as ps\nfrom neighbour_of_program import NAME\napp = ps.Application(NAME)\n"
    assert load_application(written(tmp_path, text)).name == "neighbour"


def test_a_module_and_a_name() -> None:
    assert load_application("penstock.cli.demo.vwap:vwap").name == "vwap"


def test_spade_and_json(tmp_path: Path) -> None:
    spade = '[Program] stream A(x:Long) := Source()["file:a.dat"]{} stream B(y:Double) := Functor(A)[x > 0]{x}'
    app = load_application(written(tmp_path, spade, "a.spade"))
    assert [operator.name for operator in app.operators] == ["A", "B"]
    assert load_application(written(tmp_path, app.to_json(), "a.json")) == app


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1", "has no Application, and no function annotated `-> Application`"),
        (ONE + "two = ps.Application('two')", "has several applications: app, two; choose one: "),
        ("import penstock\n\npenstock.no", "AttributeError: module 'penstock' has no attribute 'no' (program.py:3)"),
        ("1 +", "SyntaxError: invalid syntax (program.py:1)"),
        ("import not_a_module_at_all", "ModuleNotFoundError: No module named 'not_a_module_at_all' (program.py:1)"),
        ("raise SystemExit(3)", "SystemExit: 3 (program.py:1)"),
        ("def f():\n    return 1 / 0\nf()", "ZeroDivisionError: division by zero (program.py:2)"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file_are_told_in_one_sentence(tmp_path: Path, text: str, expected: str) -> None:
    told = sentence(written(tmp_path, text))
    assert expected in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ap", "has no application 'ap'; it has: app; did you mean 'app'?"),
        ("number", "is an int; it must be an Application or a function that returns one"),
        ("needs", "needs the arguments size; give them defaults, or write a function without"),
        ("wrong", "wrong() gave None, not an Application; add `return app`"),
        ("fails", "fails() cannot be used: KeyError: 'k' (program.py:8)"),
    ],
)
def test_mistakes_in_a_name_are_told_in_one_sentence(tmp_path: Path, name: str, expected: str) -> None:
    more = "number = 1\ndef needs(size): ...\ndef wrong(): ...\ndef fails(): return {}['k']\n"
    assert expected in sentence(written(tmp_path, ONE + more) + f":{name}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nowhere.py", "there is no application file nowhere.py"),
        ("nowhere.spade", "there is no application file nowhere.spade"),
        ("nothing", "an application is FILE.py[:NAME], MODULE:NAME, FILE.spade or FILE.json; got 'nothing'"),
        (":", "FILE.spade or FILE.json; got ':'"),
        ("/", "FILE.spade or FILE.json; got '/'"),
        ("x" * 300, "FILE.spade or FILE.json; got 'xxx"),
        ("no_such_module_here:app", "module 'no_such_module_here' cannot be used: ModuleNotFoundError"),
    ],
)
def test_what_is_not_there_is_told(text: str, expected: str) -> None:
    assert expected in sentence(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("prices", "got 'prices'; did you mean 'prices.py'?"),
        ("folder", "got 'folder'; did you mean 'folder/app.py'?"),
        ("price.py", "there is no application file price.py; did you mean 'prices.py'?"),
    ],
)
def test_a_file_that_was_perhaps_meant_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("prices.py", "folder/app.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert sentence(text).endswith(expected)


def test_json_that_is_not_an_application(tmp_path: Path) -> None:
    rule = "a.json: an application's JSON is an object written by Application.to_json; got"
    assert f"{rule} {{}}" in sentence(written(tmp_path, "{}", "a.json"))
    assert f"{rule} [1]" in sentence(written(tmp_path, "[1]", "a.json"))
    assert f"{rule} text that is not JSON: " in sentence(written(tmp_path, "{", "a.json"))


def test_python_that_has_no_line_is_told_without_one(tmp_path: Path) -> None:
    assert sentence(written(tmp_path, "\0", "a.py")).endswith("null bytes")


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "a.spade"
    path.write_bytes(b"\xff\xfe\x00")
    assert "is not a text file in UTF-8" in sentence(str(path))


def test_spade_mistakes_have_file_and_line(tmp_path: Path) -> None:
    told = sentence(written(tmp_path, "[Program]\nstream A(", "broken.spade"))
    assert "broken.spade:2:" in told
