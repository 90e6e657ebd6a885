"""What an application is made into before it runs on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from penstock.app.absolute_paths import paths_by_operator, with_absolute_paths
from penstock.block.dead_letters import DeadLetters
from penstock.connectors.csv import CsvSource
from penstock.connectors.files.readers import read_source
from penstock.connectors.recorded import RecordedSource
from penstock.runtime.driver.dead_letter_log import LetterBox
from penstock.spark.sources.source_frames import prepared


def test_single_files_become_tables_and_all_paths_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "one.csv").write_text("x\n1\nx\n2\n")
    app = ps.Application("files")
    app.source("many", ps.sources.csv("in"), {"x": "int64"}).sink("first", ps.sinks.parquet("out"))
    app.source("one", ps.sources.csv("one.csv"), {"x": "int64"}).sink("second", ps.sinks.csv("./out2"))
    box = LetterBox()
    graph = prepared(with_absolute_paths(app.graph), tmp_path / "c", box)
    many, one = graph.sources
    assert many.connector == CsvSource(str(tmp_path / "in"))
    assert isinstance(one.connector, RecordedSource)
    (tmp_path / "one.csv").unlink()
    assert read_source(one, DeadLetters())["x"].to_pylist() == [1, 2]
    assert box.table["row"].to_pylist() == ['{"x": "x"}']
    assert paths_by_operator(graph) == {
        "many": [str(tmp_path / "in")], "first": [str(tmp_path / "out")], "second": [str(tmp_path / "out2")],
    }  # fmt: skip


def test_a_malformed_row_stops_before_anything_is_kept(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("x\nx\n")
    app = ps.Application("files")
    app.source("one", ps.sources.csv(tmp_path / "one.csv"), {"x": "int64"}).sink("out")
    with pytest.raises(ps.errors.OperatorError, match="operator 'one' has no int64 in 'x'"):
        prepared(app.graph, tmp_path / "c", LetterBox(on_error="fail"))
