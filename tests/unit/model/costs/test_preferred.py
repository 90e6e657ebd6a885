"""The chooser's fusion by default, where functions are known."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from penstock.model.costs.choosing.preferred import preferred_fusion
from penstock.model.costs.store import CostStore, node_class
from tests.unit.model.costs.test_learned_profile import OVERHEAD, application, profile

DEFAULT = [("numbers", "half"), ("window", "out")]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CostStore:
    monkeypatch.setenv("PENSTOCK_COSTS", str(tmp_path / "costs.sqlite"))
    return CostStore()


def fill(store: CostStore) -> None:
    store.keep_overhead(node_class(), OVERHEAD)
    store.keep(profile(), node_class())


def test_the_default_fusion_stays_where_nothing_is_known(store: CostStore) -> None:
    assert preferred_fusion(application().graph) is None
    assert [e.operators for e in ps.plan_of(application()).elements] == DEFAULT
    assert not store.path.exists()


def test_the_cheapest_fusion_is_taken_where_functions_are_known(store: CostStore) -> None:
    fill(store)
    groups = preferred_fusion(application().graph)
    assert groups is not None
    default = profile().predict({"numbers": 5e4}, fusion=DEFAULT).cpu_cores
    assert profile().predict({"numbers": 5e4}, fusion=groups).cpu_cores < default
    assert [e.operators for e in ps.plan_of(application()).elements] == [tuple(group) for group in groups]
    own = application().configuration()
    assert [e.operators for e in ps.plan_of(application(), own).elements] == DEFAULT


def test_partitions_of_the_user_are_respected(store: CostStore) -> None:
    fill(store)
    app = application()
    app.request("half", partition="mine")
    assert preferred_fusion(app.graph) is None


def test_functions_of_an_older_version_leave_the_default(store: CostStore, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store)
    monkeypatch.setattr("penstock.model.costs.learning.operator_facts.CODE_VERSION", 2)
    assert preferred_fusion(application().graph) is None
