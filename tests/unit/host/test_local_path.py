"""Paths are of this machine, with file: or without; addresses of other file systems are refused, never made folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.cli.evaluate import EvaluateRequest, evaluate_command
from penstock.errors import InputError, PenstockError
from penstock.host.paths.local_path import local_path
from penstock.runtime.driver.dead_letter_log import LetterBox
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.memory.host_directory import check_state_directory

REMOTE = [
    "s3://bucket/x",
    "s3a:bucket/x",
    "gs:x",
    "hdfs://host:9000/x",
    "HDFS:/x",
    "abfss://c@a/x",
    "memory://x",
    "x2:/y",
]
LOCAL = ["a:b", "in/a:b", "C:/x", "C:\\x", "./s3:/x", "/s3:/x", "12:30.csv", "in/*.csv", "", "a:b/c", "filex:y"]


@pytest.mark.parametrize("path", REMOTE)
@pytest.mark.parametrize("kind", [str, Path])
def test_an_address_of_another_file_system_is_refused(path: str, kind: type) -> None:
    with pytest.raises(InputError, match=r"out is a path on this machine; got '.*', and .*: is not supported; give a "):
        local_path(kind(path), "out")


@pytest.mark.parametrize("path", LOCAL)
def test_a_colon_alone_makes_no_address(path: str) -> None:
    assert local_path(path, "out") == path


@pytest.mark.parametrize("path", ["file:/a b", "file:///a%20b", "file://localhost/a b", "FILE:///a b"])
def test_file_means_the_local_path(path: str) -> None:
    assert local_path(path, "out") == "/a b"
    assert local_path(Path(path.replace("//localhost", "")), "out") == "/a b"


@pytest.mark.parametrize("path", ["file:a", "file:", "file://host/a", "file:////a"])
def test_file_needs_an_absolute_path_of_this_machine(path: str) -> None:
    with pytest.raises(InputError, match="out has an absolute path of this machine behind file:"):
        local_path(path, "out")


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_the_url_of_a_path_means_that_path(name: str) -> None:
    path = Path("/data") / name
    assert local_path(path.as_uri(), "out") == str(path)
    assert local_path(str(path), "out") == str(path)


def _application(text: str) -> Any:
    return ps.Application.from_json(text).graph


def _stored(path: str) -> str:
    """An application's JSON with a path that no call has checked."""
    app = ps.Application("stored")
    app.source("in", ps.sources.csv("in"), {"x": "int64"}).sink("out", ps.sinks.csv("@out"))
    return app.to_json().replace("@out", path)


def _looked_up(path: str) -> Any:
    app = ps.Application("named")
    app.source("in", schema={"x": "int64"}).lookup("named", path, on="x").sink("out")
    return app.graph


TAKERS: list[Callable[[str], object]] = [
    _looked_up, lambda p: _looked_up(Path(p)), ps.sinks.json_lines,
    ps.sources.csv, ps.sources.parquet, ps.sources.trace, lambda p: ps.sources.trace([p]), ps.sinks.csv,
    ps.sinks.parquet, lambda p: ps.sinks.csv(Path(p)), Checkpoint, LetterBox, check_state_directory,
    lambda p: _application(_stored(p)),
    lambda p: ps.spade.load('[Program] stream A(x:Long) := Source()["file:a"]{}', data_dir=p),
    lambda p: ps.evaluate(_application(_stored("out")), {"in": p}),
    lambda p: ps.evaluate(_application(_stored("out")), data_dir=p),
    lambda p: evaluate_command(EvaluateRequest("app.py", output=Path(p))),
    lambda p: evaluate_command(EvaluateRequest("app.py", data_dir=Path(p))),
    lambda p: evaluate_command(EvaluateRequest("app.py", inputs=(f"in={p}",))),
    lambda p: evaluate_command(EvaluateRequest("app.py", taps=(f"in={p}",))),
]  # fmt: skip


@pytest.mark.parametrize("take", TAKERS)
def test_whatever_takes_a_path_refuses_other_schemes(
    take: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PenstockError, match=r"got 's3://bucket/x.csv', and s3: is not supported"):
        take("s3://bucket/x.csv")
    assert list(tmp_path.iterdir()) == []


def test_file_is_taken_off_the_paths_of_sources_sinks_checkpoints_and_dead_letters(tmp_path: Path) -> None:
    (tmp_path / "two words").mkdir()
    (tmp_path / "two words" / "a.csv").write_text("x\n1\n")
    url = (tmp_path / "two words").as_uri()
    app = ps.Application("urls")
    read = app.source("in", ps.sources.csv(url), {"x": "int64"})
    read.sink("out", ps.sinks.csv(f"file:{tmp_path}/out"))
    pq.write_table(pa.table({"x": [1], "name": ["one"]}), tmp_path / "some names.parquet")
    read.lookup("named", (tmp_path / "some names.parquet").as_uri(), on="x").sink("names")
    tables = ps.evaluate(app)
    assert tables["out"].to_pydict() == {"x": [1]}
    assert tables["names"].to_pydict() == {"x": [1], "name": ["one"]}
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name[0] != "."] == ["out.csv"]
    assert ps.sources.trace(f"{url}/a.csv").rate == (f"{tmp_path}/two words/a.csv",)
    assert Checkpoint(url).directory == LetterBox(url).folder == tmp_path / "two words"
