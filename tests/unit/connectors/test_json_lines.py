"""JSON lines: an object a tuple, exactly once; the contract of all sinks holds for it, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import InputError
from tests.contract import test_sink_port as contract

CASE = contract.Case(ps.sinks.json_lines, lambda folder: contract.of_files(folder, "*.jsonl", contract.json_numbers))


@pytest.mark.parametrize("stage", contract.STAGES)
def test_a_driver_that_dies_at_any_stage_loses_and_repeats_nothing(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(contract.CASES, "json lines", CASE)
    contract.test_a_driver_that_dies_at_any_stage_loses_and_repeats_nothing("json lines", stage, tmp_path)


def test_it_is_a_port_and_can_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(contract.CASES, "json lines", CASE)
    contract.test_a_sink_is_a_port_that_survives_being_stored("json lines", tmp_path)
    contract.test_finite_input_goes_to_any_sink("json lines", tmp_path)


def test_every_type_has_a_text(tmp_path: Path) -> None:
    app = ps.Application("types")
    schema = {"x": "float64", "at": "timestamp", "tags": "list<symbol>", "text": "string"}
    app.source("in", schema=schema).sink("out", ps.sinks.json_lines(tmp_path / "out"))
    rows = {"x": [0.5, float("nan")], "at": [1_500_000, None], "tags": [["a", None], []], "text": ["é\n", None]}
    (path,) = ps.evaluate(app, {"in": rows}).written
    assert path == tmp_path / "out" / "out.jsonl"
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [
        {"x": 0.5, "at": "1970-01-01T00:00:01.500000Z", "tags": ["a", None], "text": "é\n"},
        {"x": None, "at": None, "tags": [], "text": None},
    ]


def test_a_path_that_is_none_is_told() -> None:
    with pytest.raises(InputError, match=r"ps\.sinks\.json_lines"):
        ps.sinks.json_lines(7)  # type: ignore[arg-type]
