"""Wrong command lines have one sentence each, and help fits a narrow terminal."""

from __future__ import annotations

import re

import pytest

from penstock.cli import WRONG, main
from penstock.cli.commands import app

COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback is not None]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    text = capsys.readouterr()
    return ended.value.code, text.out, text.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run",), "penstock run needs APP; see penstock run --help"),
        (("init",), "penstock init needs DIR; see penstock init --help"),
        (("run", "--bogus"), "penstock run has no option '--bogus'; see penstock run --help"),
        (
            ("run", "a.py", "--durration", "3"),
            "penstock run has no option '--durration'; did you mean '--duration'?; see penstock run --help",
        ),
        (("run", "a.py", "b.py"), "penstock run takes no further argument; got 'b.py'; see penstock run --help"),
        (("run", "a.py", "--duration"), "penstock run needs a value for --duration; see penstock run --help"),
        (("run", "a.py", "--duration", "abc"), "--duration of penstock run is a number; got 'abc'"),
        (("demo", "--seconds=x"), "--seconds of penstock demo is a number; got 'x'"),
        (("watch", ".", "--port", "99999"), "--port of penstock watch is at most 65535; got '99999'"),
        (("watch", ".", "--port", "-1"), "--port of penstock watch is at least 0; got '-1'"),
        (("generate", "all", "--rows", "1.5"), "--rows of penstock generate is a whole number; got '1.5'"),
        (("checkpoint", "cop"), "penstock checkpoint has no command 'cop'; it has: copy; did you mean 'copy'?"),
    ],
)
def test_a_wrong_command_line_has_one_sentence(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, *arguments) == (WRONG, "", f"{sentence}\n")


def test_a_misspelt_command_is_answered_with_the_nearest_and_with_all(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "runn")
    assert (code, out) == (WRONG, "")
    assert re.fullmatch(r"penstock has no command 'runn'; it has: demo, init, .*; did you mean 'run'\?\n", err)
    assert "bench" not in err
    assert run(capsys, "help")[2].endswith("; see penstock --help\n")


@pytest.mark.parametrize("command", [[], ["checkpoint"], ["checkpoint", "copy"], *([name] for name in COMMANDS)])
def test_help_is_plain_and_whole_at_80_columns(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    if command == ["bench"]:
        return
    code, out, err = run(capsys, *command, "-h")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: penstock {' '.join(command)}".rstrip())
    assert max(map(len, out.splitlines())) <= 80
    assert not re.search(r"[…╭│`\x1b]|<(bool|str|path|int|float)>", out)


def test_long_examples_are_broken_so_that_a_shell_takes_them(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "run", "--help")[1]
    assert (
        '  penstock run examples/streaming/vwap.py --goal "latency p95_ms=500" \\\n      --limit max_replicas=8\n'
        in out
    )


def test_options_of_run_stand_by_what_they_are_about(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "run", "--help")[1]
    titles = re.findall(r"^(\S.*):$", out, re.MULTILINE)
    assert titles[:5] == ["Examples", "Arguments", "Options", "Checkpoint and state", "Tuples"]
    assert "Goals and control" in titles
    assert "  static                    replicas=max_replicas\n" in out


def test_without_a_command_it_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)
    assert (code, err) == (WRONG, "")
    assert "To begin with:\n  demo " in out
