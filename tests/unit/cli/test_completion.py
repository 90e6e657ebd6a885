"""Completion of commands and options in a shell."""

from __future__ import annotations

import pytest

from penstock.cli import main


@pytest.mark.parametrize(
    ("words", "place", "expected"), [("penstock ex", "1", ["explain"]), ("penstock journal --pi", "2", ["--picture"])]
)
def test_a_shell_completes_commands_and_options(
    words: str,
    place: str,
    expected: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("_PENSTOCK_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", place)
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert capsys.readouterr().out.split() == expected


def test_the_help_says_how_to_install_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--install-completion" in capsys.readouterr().out
