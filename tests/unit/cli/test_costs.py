"""penstock explain --rate: what it prints, and what it refuses with exit code 2."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import main
from penstock.cli.commands import app
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.store import CostStore, node_class
from tests.reference.costs import line
from tests.unit.model.costs.test_learned_profile import OVERHEAD, application, profile
from tests.unit.model.costs.test_node_performance import on_node, slower

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


def test_a_machine_that_nobody_measured_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    fill()
    Path("nodes.toml").write_text('[[node]]\nname = "big"\ncores = 4\n')
    told = refused(capsys, "explain", "halves.py", "--rate", "50000", "--nodes", "nodes.toml")
    assert "node 'big': its speed for aggregate, functor, source is unknown" in told
    assert "give the node's speed" in told


def test_a_profile_of_a_file_is_used() -> None:
    profile().save("p.json")
    words = ["explain", "halves.py", "--rate", "50000", "--profile", "p.json", "--json"]
    assert json.loads(CliRunner().invoke(app, words).output)["costs"]["store"] == "p.json"


def test_a_file_in_another_order_and_with_less_is_read_as_the_application_has_it() -> None:
    """Operators in any order, some of another application, without class, scope and inputs."""
    profile().save("p.json")
    words = ["explain", "halves.py", "--rate", "50000", "--fuse", "--json", "--profile"]
    whole = json.loads(CliRunner().invoke(app, [*words, "p.json"]).output)["costs"]
    body = json.loads(Path("p.json").read_text())
    less = {name: {part: own[part] for part in ("cpu", "covariance", "outputs")}
            for name, own in reversed(body["operators"].items())}  # fmt: skip
    body["operators"] = {"another": {"cpu": [{"powers": [1], "coefficient": 1e-6}]}, **less}
    Path("less.json").write_text(json.dumps(body))
    found = json.loads(CliRunner().invoke(app, [*words, "less.json"]).output)["costs"]
    assert list(found["elements"]) == list(whole["elements"])
    assert found["rates"] == whole["rates"] == {"numbers": 50000.0}
    assert found["needed"]["replicas"] == whole["needed"]["replicas"]
    assert found["fusions"]["none"]["elements"] == whole["fusions"]["none"]["elements"]


def test_an_operator_over_the_whole_stream_has_one_replica_whatever_a_file_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    dear = profile()
    window = replace(dear.operator("window"), cpu=line(1e-4), scope="none")
    replace(dear, operators=tuple(window if own.name == "window" else own for own in dear.operators)).save("p.json")
    Path("nodes.toml").write_text('[[node]]\nname = "big"\ncores = 64\nspeed = 1.0\n')
    words = ["explain", "halves.py", "--rate", "80000", "--profile", "p.json", "--nodes", "nodes.toml"]
    assert "no fusion sustains 80,000 tuples/s on 64 cores" in refused(capsys, *words)


def test_the_node_of_a_prediction_is_named() -> None:
    fill()
    Path("nodes.toml").write_text('[[node]]\nname = "big"\ncores = 4\nspeed = 2.0\n')
    result = CliRunner().invoke(app, ["explain", "halves.py", "--rate", "50000", "--nodes", "nodes.toml"])
    assert "predicted at 50,000 tuples/s on big, one" in " ".join(result.output.split())


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
    assert "--rate is a number of at least 0" in refused(capsys, "explain", "halves.py", "--rate", "-5")
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


def test_a_node_of_the_store_is_predicted_for(capsys: pytest.CaptureFixture[str]) -> None:
    fill()
    CostStore().keep_overhead("slow", slower(OVERHEAD, 2.0))
    CostStore().keep(on_node("slow", 0.5), "slow")
    words = ["explain", "halves.py", "--rate", "50000", "--json"]
    own = json.loads(CliRunner().invoke(app, words).output)["costs"]
    slow = json.loads(CliRunner().invoke(app, [*words, "--node", "slow"]).output)["costs"]
    parts = [body["elements"]["numbers"]["parts"]["operators"] for body in (own, slow)]
    assert parts[1] == pytest.approx(2 * parts[0], rel=0.05)
    assert "on the node 'third', nor its operators' classes there" in refused(capsys, *words, "--node", "third")
    assert "give one of them" in refused(capsys, *words, "--node", "slow", "--nodes", "nodes.toml")
    shown = CliRunner().invoke(app, ["profile", "halves.py", "--show", "--node", "slow"])
    assert "operators run so many times as fast" in " ".join(shown.output.split())


def test_a_node_of_a_profile_and_its_neighbours_are_predicted_for(capsys: pytest.CaptureFixture[str]) -> None:
    speeds = {"source": 0.5, "functor": 0.5, "aggregate": 0.5, "communication": 0.5}
    replace(profile(), speeds_by_node={"slow": speeds}, contention=0.2).save("p.json")
    words = ["explain", "halves.py", "--rate", "50000", "--profile", "p.json", "--json"]
    own, slow, beside = (
        json.loads(CliRunner().invoke(app, [*words, *more]).output)["costs"]
        for more in ([], ["--node", "slow"], ["--neighbours", "1"])
    )
    assert slow["cpu_cores"] > 1.7 * own["cpu_cores"]
    assert slow["needed"]["cpu_cores"] > 1.7 * own["needed"]["cpu_cores"]
    assert beside["cpu_cores"] == pytest.approx(1.2 * own["cpu_cores"])
    assert beside["needed"]["cpu_cores"] == pytest.approx(1.2 * own["needed"]["cpu_cores"])
    assert "nobody measured the node 'slwo'" in refused(capsys, *words, "--node", "slwo")
    assert "need a rate" in refused(capsys, "explain", "halves.py", "--neighbours", "1")


def test_a_function_of_other_parameters_in_a_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    profile().save("p.json")
    Path("halves.py").write_text(PROGRAM.replace("x / 2", "x / 3"))
    told = refused(capsys, "explain", "halves.py", "--rate", "50000", "--profile", "p.json")
    assert "p.json has the function of another operator 'half'" in told
