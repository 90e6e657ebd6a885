"""Each sink has a folder of its own, however the paths are written."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import penstock as ps
from penstock.app.checks.path_checks import check_paths


def two_sinks(one: object, other: object) -> ps.Application:
    app = ps.Application("two")
    numbers = app.source("in", schema={"x": "int64"})
    numbers.sink("one", one)  # type: ignore[arg-type]
    numbers.sink("other", other)  # type: ignore[arg-type]
    return app


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real" / "inner").mkdir(parents=True)
    os.symlink(tmp_path / "real", tmp_path / "link")
    return tmp_path


SAME = [("x", "x"), ("x", "./x"), ("x/", "x//"), ("x", "y/../x"), ("real", "link"), ("link/inner", "real/inner")]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_sinks_in_one_folder_are_refused_with_both_names(one: str, other: str) -> None:
    app = two_sinks(ps.sinks.csv(one), ps.sinks.parquet(other, ordered=True))
    sentence = (
        rf"operator 'other' \(test_path_checks\.py:\d+\) writes to the folder '{re.escape(other)}', which is that of "
        r"operator 'one' \(test_path_checks\.py:\d+\); give each a folder of its own"
    )
    with pytest.raises(ps.errors.ApplicationError, match=f"^{sentence}$"):
        _ = app.graph


def test_the_absolute_path_of_the_same_folder_is_the_same(folder: Path) -> None:
    with pytest.raises(ps.errors.ApplicationError, match="which is that of operator 'one'"):
        _ = two_sinks(ps.sinks.parquet("x"), ps.sinks.parquet(f"file:{folder}/x")).graph


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [("x", "x/y/z", "inside of"), ("x/y", "x", "around"), ("link", "real/new", "inside of")],
)
def test_a_sink_inside_of_anothers_folder_is_refused(one: str, other: str, how: str) -> None:
    with pytest.raises(
        ps.errors.ApplicationError, match=f"writes to '{other}', {how} the folder '{one}' of operator 'one'"
    ):
        _ = two_sinks(ps.sinks.csv(one), ps.sinks.csv(other)).graph


@pytest.mark.parametrize(("one", "other"), [("x", "xy"), ("out/a", "out/b"), ("real", "real2")])
def test_folders_apart_are_accepted(one: str, other: str) -> None:
    assert len(two_sinks(ps.sinks.csv(one), ps.sinks.csv(other)).graph.sinks) == 2


@pytest.mark.parametrize("letters", ["out", "./out", "out/dead"])
def test_dead_letters_go_to_a_folder_of_their_own(letters: str) -> None:
    app = ps.Application("one")
    app.source("in", schema={"x": "int64"}).sink("one", ps.sinks.parquet("out", ordered=True))
    check_paths(app.graph, "dead")
    with pytest.raises(ps.errors.ApplicationError, match=f"the dead letters go to .*'{letters}', .* of operator 'one'"):
        check_paths(app.graph, letters)
