"""penstock profile: what it prints, and what it refuses with exit code 2, all without Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.commands import app
from penstock.control.journal.journal import Journal
from penstock.measure.observation import Observation
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.profile import Profile
from penstock.model.costs.store import CostStore, node_class
from penstock.runtime.profiling.profiled_graph import apart
from tests.unit.cli.test_costs import fill, program, refused
from tests.unit.model.costs.test_learned_profile import HALF, OVERHEAD, RATES, application, batch, profile

__all__ = ["program"]  # a fixture of this module, too
BLOCKS = """
import penstock as ps

app = ps.Application("halves")
halves = app.source("numbers", schema={"x": "int64"}).map("half", lambda block: block, schema={"h": "float64"})
halves.aggregate("window", window=ps.tumbling(count=10), emit={"m": "mean(h)"}).sink("out")
"""


def recorded(*seen: Observation) -> Path:
    path, configuration = Path("checkpoint/journal.jsonl"), apart(application().graph)
    path.parent.mkdir()
    journal = Journal(path, "halves")
    for number, own in enumerate(seen):
        journal.write(replace(own, batch=number), configuration)
    return path.parent


def run_of(*rates: int, waiting: float = 0.0) -> Path:
    return recorded(*(batch(rate, waiting=waiting) for rate in rates for _ in range(4)))


def test_the_store_is_shown_as_a_table_and_as_json() -> None:
    fill()
    result = CliRunner().invoke(app, ["profile", "halves.py", "--show"])
    assert "what operators of halves cost" in result.output
    assert "costs.sqlite" in "".join(result.output.split())
    body = json.loads(CliRunner().invoke(app, ["profile", "halves.py", "--show", "--json"]).output)
    assert list(body["operators"]) == ["numbers", "half", "window", "out"]
    assert set(body["fixed"]) >= {"micro_batch_cpu_s", "task_cpu_s", "envelope_cpu_s"}


def test_a_journal_is_learned_from() -> None:
    CostStore().keep_overhead(node_class(), OVERHEAD)
    words = ["profile", "halves.py", "--from-journal", str(run_of(*RATES)), "--output", "p.json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    found = Profile.load("p.json")
    assert found.operator("half").cpu.at([1e5]) == pytest.approx(HALF * 1e5, rel=1e-3)
    stored = CostStore().profile(facts_of(application().graph), node_class())
    assert stored is not None
    assert stored.operators == found.operators


def test_a_journal_refines_what_is_known() -> None:
    fill()
    slow = recorded(*(batch(rate, factor=1.2) for rate in RATES for _ in range(4)))
    CliRunner().invoke(app, ["profile", "halves.py", "--from-journal", str(slow), "--output", "p.json"])
    before, after = (p.operator("half").cpu.at([1e5]) for p in (profile(), Profile.load("p.json")))
    assert before < after <= 1.21 * before


def test_what_gives_no_function_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert "points at 3 different rates at least; got 2" in refused(capsys, "profile", "halves.py", "--rates", "10,20")
    assert "--rates is a list of tuples/s" in refused(capsys, "profile", "halves.py", "--rates", "many")
    both = ("--show", "--from-journal", "x")
    assert "--show prints what the store has" in refused(capsys, "profile", "halves.py", *both)
    assert "application 'halves' has not been profiled on this machine" in refused(
        capsys, "profile", "halves.py", "--show"
    )
    assert "gives no tuples to profile with" in refused(capsys, "profile", "halves.py")


@pytest.mark.parametrize(
    ("rates", "waiting", "sentence"),
    [
        ((40_000, 80_000), 0.0, "points at 3 different rates at least; got 2"),
        ((10_000_000, 20_000_000, 30_000_000), 0.0, "every rate is saturated"),
        (RATES, 2.0, "operator 'half' blocks"),
    ],
)
def test_a_journal_that_gives_no_function_is_refused(
    rates: tuple[int, ...], waiting: float, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    CostStore().keep_overhead(node_class(), OVERHEAD)
    Path("blocks.py").write_text(BLOCKS)
    words = ("profile", "blocks.py" if waiting else "halves.py", "--from-journal", str(run_of(*rates, waiting=waiting)))
    assert sentence in refused(capsys, *words)


def test_a_node_that_nobody_measured_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, "profile", "halves.py", "--from-journal", str(run_of(*RATES)))
    assert "the cost of communication has not been measured on this machine" in told


def test_an_older_version_of_the_code_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    old = profile()
    operators = tuple(replace(own, key=(own.key or "").replace("-v1", "-v0")) for own in old.operators)
    CostStore().keep_overhead(node_class(), OVERHEAD)
    CostStore().keep(replace(old, operators=operators), node_class())
    told = refused(capsys, "profile", "halves.py", "--show")
    assert "was learned with version 0 of its code, and this is version 1; learn it again" in told


def test_a_run_of_another_application_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    CostStore().keep_overhead(node_class(), OVERHEAD)
    Path("other.py").write_text(BLOCKS.replace('"half"', '"third"').replace("halves", "thirds"))
    told = refused(capsys, "profile", "other.py", "--from-journal", str(run_of(*RATES)))
    assert "the operator 'half', which application 'thirds' does not have" in told
    journal = Journal(Path("default.jsonl").absolute(), "halves")
    for number in range(5):
        journal.write(replace(batch(RATES[0]), batch=number), application().configuration())
    told = refused(capsys, "profile", "other.py", "--from-journal", "default.jsonl")
    assert "the run has an element 'half', which application 'thirds' has not" in told
