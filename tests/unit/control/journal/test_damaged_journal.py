"""A journal that is damaged, or no journal, has one sentence with the line; never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.control.journal.journal import Journal, read_journal
from penstock.control.journal.recorded_decision import judged_decisions
from penstock.errors import InputError
from penstock.plan.configuration import configuration_from_json
from tests.unit.observed import configuration, run_of

DECISION = {"step": 1, "policy": "mpc", "setting": {"replicas": 2}, "wanted": {}, "decided": {}, "because": "x"}


def lines_of(folder: Path) -> list[dict[str, Any]]:
    journal = Journal(folder / "journal", "app")
    for observation in run_of(3):
        journal.write(observation, configuration())
    return [json.loads(line) for line in (folder / "journal").read_text().splitlines()]


def refused(folder: Path, lines: list[Any]) -> str:
    path = folder / "damaged"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    with pytest.raises(InputError) as raised:
        judged_decisions(read_journal(path))
    return str(raised.value).replace(f"the journal '{path}'", "it")


@pytest.mark.parametrize(
    ("name", "value"),
    [("tuples_in", "x"), ("tuples_in", None), ("batch", {}), ("batch", 10**40), ("micro_batch_s", []), ("latency", 5)],
)
def test_a_figure_of_another_type_is_refused_with_its_line(tmp_path: Path, name: str, value: Any) -> None:
    lines = lines_of(tmp_path)
    lines[2]["observation"][name] = value
    assert refused(tmp_path, lines).startswith("line 3 of it is no micro-batch: ValueError")


def test_figures_that_lack_are_named(tmp_path: Path) -> None:
    lines = lines_of(tmp_path)
    del lines[1]["observation"]["tuples_in"]
    assert refused(tmp_path, lines) == "line 2 of it is no micro-batch: ValueError('Observation has no tuples_in')"


def test_deep_nesting_is_not_json(tmp_path: Path) -> None:
    assert refused(tmp_path, [*lines_of(tmp_path), "[" * 100_000]).startswith("line 5 of it is not JSON: maximum")


@pytest.mark.parametrize("decision", [1, {"step": 1}, DECISION | {"wanted": 5}, DECISION | {"because": 1}])
def test_a_decision_that_is_none_is_refused(tmp_path: Path, decision: Any) -> None:
    said = refused(tmp_path, [*lines_of(tmp_path), {"batch": 1, "decision": decision}])
    assert "decision after" in said


@pytest.mark.parametrize("batch", ["x", None, 1e400, [1]])
def test_a_decision_after_no_micro_batch_is_refused(tmp_path: Path, batch: Any) -> None:
    said = refused(tmp_path, [*lines_of(tmp_path), {"batch": batch, "decision": {}}])
    assert said == "line 5 of it is no decision after a micro-batch"


def test_a_start_that_is_none_is_refused(tmp_path: Path) -> None:
    lines = lines_of(tmp_path)
    lines[0]["start"] = 5
    assert refused(tmp_path, lines).startswith("line 1 of it has no start of an application: RunStart is an object")


def test_packed_numbers_that_are_damaged_are_refused(tmp_path: Path) -> None:
    lines = lines_of(tmp_path)
    lines[1]["observation"]["latency"]["sketch"] = {"counts": "1,AAAA"}
    assert refused(tmp_path, lines).startswith("line 2 of it is no micro-batch")


def test_a_route_without_end_is_refused_and_not_written_out(tmp_path: Path) -> None:
    lines = lines_of(tmp_path)
    lines[1]["configuration"]["elements"][1]["route"] = [[0, 10**12]]
    assert "a route of more than 32,768 slots" in refused(tmp_path, lines)


@pytest.mark.parametrize("body", [5, {}, {"elements": 1}, {"elements": [5]}, {"elements": [], "block_rows": "x"}])
def test_a_configuration_that_is_none_is_refused_in_one_sentence(body: Any) -> None:
    with pytest.raises(InputError, match="a Configuration cannot be read from"):
        configuration_from_json(body)
