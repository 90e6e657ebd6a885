"""A running application against the store: drift is told, and what ran refines the functions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.measure.observation import Observation
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.store import CostStore
from penstock.plan.configuration import Configuration
from penstock.runtime.profiling.cost_watch import CostWatch
from penstock.runtime.profiling.profiled_graph import apart
from tests.unit.model.costs.test_learned_profile import HALF, OVERHEAD, RATES, application, batch, profile


def store_of(tmp_path: Path) -> CostStore:
    store = CostStore(tmp_path / "costs.sqlite")
    store.keep_overhead("n", OVERHEAD)
    store.keep(profile(), "n")
    return store


def fed(watch: CostWatch, seconds: int, factor: float) -> list[tuple[int, str]]:
    configuration, found = apart(application().graph), []
    for second in range(seconds):
        seen = replace(batch(RATES[second % 4], factor=factor), started_at_s=float(second))
        found += [(second, drift.element) for drift in watch.after([(seen, configuration)])]
    return found


def test_drift_is_told_after_a_minute(tmp_path: Path) -> None:
    found = fed(CostWatch(application().graph, store_of(tmp_path), "n"), 90, 10.0)
    assert [name for _, name in found] == ["numbers", "half", "window"]
    assert all(second >= 60 for second, _ in found)


def test_nothing_is_told_without_functions_or_without_figures_of_the_jvm(tmp_path: Path) -> None:
    store = CostStore(tmp_path / "none.sqlite")
    assert fed(CostWatch(application().graph, store, "n"), 90, 10.0) == []
    assert not store.path.exists()
    watch, configuration = CostWatch(application().graph, store_of(tmp_path), "n"), apart(application().graph)
    for second in range(90):
        seen = replace(batch(RATES[0], factor=3.0), started_at_s=float(second))
        assert watch.after([(without_jvm(seen), configuration)]) == []


def test_what_waits_for_the_end_has_no_counts_by_slot(tmp_path: Path) -> None:
    watch, counts = CostWatch(application().graph, store_of(tmp_path), "n"), {"window": tuple(range(512))}
    seen = replace(batch(RATES[0]), slot_tuples_by_element=counts, slot_cpu_us_by_element=counts)
    watch.after([(seen, apart(application().graph))])
    assert [(own.slot_tuples_by_element, own.slot_cpu_us_by_element) for own, _ in watch._seen] == [({}, {})]


def without_jvm(seen: Observation) -> Observation:
    elements = {name: tuple(replace(r, jvm_cpu_s=None) for r in own) for name, own in seen.replicas_by_element.items()}
    return replace(seen, replicas_by_element=elements)


def test_what_ran_refines_the_store_and_drift_does_not(tmp_path: Path) -> None:
    store, facts = store_of(tmp_path), facts_of(application().graph)

    def cores() -> float:
        found = store.profile(facts, "n")
        assert found is not None
        return found.operator("half").cpu.at([1e5])

    widened = profile()
    rough = tuple(replace(o, cpu=replace(o.cpu, covariance=_wide(len(o.cpu.terms)))) for o in widened.operators)
    store.keep(replace(widened, operators=rough), "n")
    watch = CostWatch(application().graph, store, "n")
    assert fed(watch, 60, 1.05) == []
    watch.end()
    assert cores() == pytest.approx(1.05 * HALF * 1e5, rel=0.01)
    drifted = CostWatch(application().graph, store, "n")
    assert fed(drifted, 120, 10.0)
    drifted.end()
    assert cores() == pytest.approx(1.05 * HALF * 1e5, rel=0.01)


def _wide(terms: int) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(1e-12 if i == j else 0.0 for j in range(terms)) for i in range(terms))


def test_an_older_version_is_not_watched(tmp_path: Path) -> None:
    store, old = store_of(tmp_path), profile()
    store = CostStore(tmp_path / "old.sqlite")
    store.keep_overhead("n", OVERHEAD)
    store.keep(
        replace(old, operators=tuple(replace(o, key=(o.key or "").replace("-v1", "-v0")) for o in old.operators)), "n"
    )
    assert fed(CostWatch(application().graph, store, "n"), 90, 10.0) == []


def test_a_configuration_of_every_operator_apart() -> None:
    own: Configuration = apart(application().graph)
    assert [element.name for element in own.elements] == ["numbers", "half", "window"]
