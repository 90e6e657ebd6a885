"""penstock explain --rate: what it prints, and what it refuses with exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import main
from penstock.cli.commands import app
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.store import CostStore, node_class
from tests.unit.model.costs.test_learned_profile import OVERHEAD, application, profile

PROGRAM = """
import penstock as ps

app = ps.Application("halves")
halves = app.source("numbers", schema={"x": "int64"}).functor("half", emit={"h": "x / 2"}, where="x > 0")
halves.aggregate("window", window=ps.tumbling(count=10), emit={"m": "mean(h)"}).sink("out")
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_COSTS", str(tmp_path / "costs.sqlite"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "halves.py"
    path.write_text(PROGRAM)
    return path


def fill() -> None:
    CostStore().keep_overhead(node_class(), OVERHEAD)
    CostStore().keep(profile(), node_class())


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return " ".join(captured.err.split())


def test_costs_are_explained_from_the_store() -> None:
    fill()
    result = CliRunner().invoke(app, ["explain", "halves.py", "--rate", "50000", "--fuse", "--json"])
    costs = json.loads(result.output)["costs"]
    assert costs["max_rate_tuples_s"] > 50000
    assert costs["bottleneck"] in costs["elements"]
    for own in costs["elements"].values():
        assert own["low"] <= own["cpu_cores"] <= own["high"]
        assert sum(own["parts"].values()) == pytest.approx(own["cpu_cores"])
    assert costs["fusions"]["chosen"]["cpu_cores"] == min(own["cpu_cores"] for own in costs["fusions"].values())
    assert costs["needed"]["replicas"]


def test_costs_are_shown_as_tables() -> None:
    fill()
    result = CliRunner().invoke(app, ["explain", "halves.py", "--rate", "50000", "--fuse"])
    assert "predicted at 50,000 tuples/s" in result.output
    assert "highest rate" in result.output
    assert "costs.sqlite" in "".join(result.output.split())


def test_machines_of_a_file_are_used() -> None:
    fill()
    Path("nodes.toml").write_text('[[node]]\nname = "big"\ncores = 4\nspeed = 2.0\n')
    words = ["explain", "halves.py", "--rate", "50000", "--json"]
    slow = json.loads(CliRunner().invoke(app, words).output)["costs"]
    fast = json.loads(CliRunner().invoke(app, [*words, "--nodes", "nodes.toml"]).output)["costs"]
    assert fast["cpu_cores"] < 0.6 * slow["cpu_cores"]
    assert {tuple(own) for own in fast["needed"]["hosts"].values()} == {("big",)}


def test_a_profile_of_a_file_is_used() -> None:
    profile().save("p.json")
    words = ["explain", "halves.py", "--rate", "50000", "--profile", "p.json", "--json"]
    assert json.loads(CliRunner().invoke(app, words).output)["costs"]["store"] == "p.json"


def test_a_fusion_that_is_set_is_explained_and_compared() -> None:
    fill()
    words = ["explain", "halves.py", "--set", "fusion=numbers,half+window", "--rate", "50000", "--fuse", "--json"]
    body = json.loads(CliRunner().invoke(app, words).output)
    assert [own["element"]["operators"] for own in body["elements"]] == [["numbers"], ["half", "window", "out"]]
    assert list(body["costs"]["elements"]) == ["numbers", "half"]
    assert body["costs"]["fusions"]["requested"]["elements"] == [["numbers"], ["half", "window", "out"]]
    assert "elements, with --set" in CliRunner().invoke(app, words[:4]).output


def test_a_fusion_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, "explain", "halves.py", "--set", "fusion=numbers+window,half")
    assert "the path numbers -> half -> window leaves it and comes back" in told


def test_refusals_have_one_sentence_and_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, "explain", "halves.py", "--rate", "50000")
    assert "application 'halves' has not been profiled on this machine" in told
    assert "--nodes, --profile and --fuse need a rate" in refused(capsys, "explain", "halves.py", "--fuse")
    Path("p.json").write_text('{"version": 1, "operators": {"half": {"cpu": []}}}')
    told = refused(capsys, "explain", "halves.py", "--rate", "5", "--profile", "p.json")
    assert "p.json has no function for numbers, window, out of application 'halves'" in told


def test_a_function_of_an_older_version_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill()
    monkeypatch.setattr("penstock.model.costs.learning.operator_facts.CODE_VERSION", 2)
    assert facts_of(application().graph)["half"].key.endswith("-v2")
    assert "was learned with version 1 of its code" in refused(capsys, "explain", "halves.py", "--rate", "50000")


def test_a_file_with_a_function_of_an_older_version_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    profile().save("p.json")
    Path("p.json").write_text(Path("p.json").read_text().replace("-v1", "-v0"))
    told = refused(capsys, "explain", "halves.py", "--rate", "50000", "--profile", "p.json")
    assert "the function of operator 'half' was learned with version 0 of its code, and this is version 1" in told
