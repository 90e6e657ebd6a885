"""Nodes that are a known factor slower, and neighbours that cost a known share: both are learned back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import costs
from penstock.errors import InputError
from penstock.model.costs.learning.learned_profile import Overhead, learned
from penstock.model.costs.learning.node_performance import (
    communication_speed,
    learned_contention,
    learned_speeds,
    saturated_rate,
)
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.learning.samples import ElementSample, Sample
from penstock.model.costs.profile import FixedCosts, Profile
from penstock.model.costs.resource_function import ResourceFunction, Term
from penstock.model.costs.store import CostStore
from tests.unit.model.costs.test_learned_profile import OVERHEAD, RATES, application, measured, profile

FACTS = facts_of(application().graph)


def shifted(own: costs.OperatorCost, speed: float) -> costs.OperatorCost:
    """The stand-in for another machine: the same operator on one `speed` times as fast, u = f(r / s)."""
    terms = tuple(Term(t.powers, t.coefficient / speed ** sum(t.powers)) for t in own.cpu.terms)
    return replace(own, cpu=replace(own.cpu, terms=terms))


def slower(overhead: Overhead, factor: float) -> Overhead:
    table, fixed = overhead.communication, overhead.fixed
    sides = {side: tuple(factor * own for own in getattr(table, side)) for side in ("send_cores", "receive_cores")}
    fixed = replace(fixed, envelope_cpu_s=factor * fixed.envelope_cpu_s)
    return replace(overhead, communication=replace(table, **sides), fixed=fixed)


def on_node(name: str, speed: float) -> Profile:
    """The application's profile as a node `speed` times as fast learns it."""
    own = profile()
    operators = tuple(shifted(operator, speed) for operator in own.operators)
    return replace(own, operators=operators, node=name)


@given(
    st.floats(0.05, 20.0), st.floats(0.0, 0.3), st.floats(1e-8, 1e-4), st.floats(0.0, 1e-10), st.sampled_from([1, 2])
)
def test_a_speed_is_learned_back_whatever_the_function(
    speed: float, fixed: float, linear: float, square: float, ports: int
) -> None:
    terms = [
        Term((0,) * ports, fixed),
        Term((1,) + (0,) * (ports - 1), linear),
        Term((0,) * (ports - 1) + (2,), square),
    ]
    own = costs.OperatorCost("a", ResourceFunction(tuple(terms)), operator_class="functor", key="k")
    assert learned_speeds([own], [shifted(own, speed)]) == pytest.approx({"functor": speed}, rel=1e-6)
    assert learned_speeds([shifted(own, speed)], [own]) == pytest.approx({"functor": 1 / speed}, rel=1e-6)


def test_operators_of_other_keys_and_without_cost_say_nothing() -> None:
    own = costs.OperatorCost("a", ResourceFunction((Term((1,), 1e-6),)), operator_class="functor", key="k")
    free = replace(own, cpu=ResourceFunction(()))
    assert saturated_rate(free.cpu) is None
    assert learned_speeds([own], [replace(own, key="other")]) == {}
    assert learned_speeds([replace(own, key=None)], [replace(own, key=None)]) == {}
    assert learned_speeds([free], [own]) == {}


def test_a_class_that_never_uses_a_core_has_the_mean_of_the_others() -> None:
    functor = costs.OperatorCost("a", ResourceFunction((Term((1,), 1e-6),)), operator_class="functor", key="a")
    falling = ResourceFunction((Term((0,), 1e-4), Term((1,), -1e-9)))  # what noise leaves of next to nothing
    sink = costs.OperatorCost("out", falling, operator_class="sink", key="out")
    assert learned_speeds([functor, sink], [shifted(functor, 2.0), sink]) == pytest.approx({"functor": 2, "sink": 2})


def test_surer_functions_count_more() -> None:
    sure = costs.OperatorCost("a", ResourceFunction((Term((1,), 1e-6),)), operator_class="functor", key="a")
    vague = replace(sure, key="b", cpu=replace(sure.cpu, noise=0.3))
    there = [shifted(sure, 2.0), shifted(vague, 4.0)]
    assert learned_speeds([sure, vague], there)["functor"] == pytest.approx(2.0, rel=0.01)


def test_communication_has_a_speed_of_its_own() -> None:
    own = replace(OVERHEAD, fixed=FixedCosts(0.0, 0.01, 1e-4))
    assert communication_speed(own, own) == pytest.approx(1.0)
    assert communication_speed(own, slower(own, 2.0)) == pytest.approx(0.5)
    with pytest.raises(InputError, match="one of them has no costs"):
        communication_speed(own, Overhead(FixedCosts(), costs.Communication()))


def sample(*cpu_s: float) -> Sample:
    elements = {f"e{n}": ElementSample(own, own, own, own, 1, {}, {}, {}, {}) for n, own in enumerate(cpu_s)}
    return Sample(1e4, 0.5, None, None, elements)


def test_contention_is_the_median_of_visits_in_turns() -> None:
    alone = [sample(0.2, 0.3), sample(0.4, 0.6), sample(0.2, 0.3)]
    beside = [sample(0.3, 0.45), sample(0.6, 0.9), sample(0.9, 0.9)]  # half as much again, and one that was disturbed
    assert learned_contention(alone, beside, 1.0) == pytest.approx(0.5)
    assert learned_contention(alone, beside, 2.0) == pytest.approx(0.25)
    assert learned_contention(beside, alone, 1.0) == 0.0
    with pytest.raises(InputError, match="as many visits with neighbours as without; got 1 and 0"):
        learned_contention([], [sample(1.0)], 1.0)


@pytest.fixture
def store(tmp_path: Path) -> CostStore:
    """Two nodes, one of which is half as fast at all but aggregates."""
    found = CostStore(tmp_path / "costs.sqlite")
    found.keep_overhead("fast", OVERHEAD)
    found.keep(on_node("fast", 1.0), "fast")
    found.keep_overhead("slow", slower(OVERHEAD, 2.0))
    found.keep(on_node("slow", 0.5), "slow")
    return found


def test_the_store_learns_speeds_between_nodes_and_predicts_with_them(store: CostStore) -> None:
    own = store.profile(FACTS, "fast")
    assert own is not None
    assert own.speeds_by_node["slow"]["functor"] == pytest.approx(0.5)
    assert own.speeds_by_node["slow"]["communication"] == pytest.approx(0.5, rel=0.02)
    fast, slow = (own.predict({"numbers": 8e4}, node=name) for name in (None, "slow"))
    assert slow.elements["half"].parts["operators"] == pytest.approx(own.operator("half").cpu.at([8e4 / 0.5]), rel=1e-6)
    assert slow.elements["half"].parts["receive"] == pytest.approx(2 * fast.elements["half"].parts["receive"], rel=0.02)
    named = costs.Nodes((costs.Node("slow", cores=4),))
    assert own.predict({"numbers": 8e4}, node=named).cpu_cores == pytest.approx(slow.cpu_cores)
    assert own.choose(1e4, named).cpu_cores > own.choose(1e4, costs.Node("fast", cores=4)).cpu_cores
    with pytest.raises(InputError, match=r"nobody measured the node 'slwo'; .* did you mean 'slow'"):
        own.predict({"numbers": 8e4}, node="slwo")


def test_what_one_node_has_learned_is_used_on_another(store: CostStore) -> None:
    """The slow node is known by `half` and `window`; another application ran on the fast node alone."""
    other = application()
    other.stream("numbers").functor("double", emit={"d": "x * 2"}).sink("doubles")
    facts = facts_of(other.graph)
    double = replace(profile().operator("half"), name="double", key=facts["double"].key, inputs=("numbers",))
    double = replace(double, outputs={"double": ResourceFunction((Term((1,), 1.0),))}, bytes_per_tuple={"double": 8.0})
    sink = replace(profile().operator("out"), name="doubles", key=facts["doubles"].key, inputs=("double",))
    fast = on_node("fast", 1.0)
    store.keep(replace(fast, operators=(*fast.operators, double, sink)), "fast")
    found = store.profile(facts, "slow")
    assert found is not None
    assert found.node == "slow"
    assert found.speed["functor"] == pytest.approx(0.5)
    predicted = found.predict({"numbers": 4e4}).elements["double"]
    assert predicted.parts["operators"] == pytest.approx(double.cpu.at([8e4]), rel=1e-6)
    assert found.communication == slower(OVERHEAD, 2.0).communication
    back = found.predict({"numbers": 4e4}, node="fast").elements["double"]
    assert back.parts["operators"] == pytest.approx(double.cpu.at([4e4]), rel=1e-6)
    assert store.profile(facts, "third") is None


def test_contention_is_kept_with_the_node(store: CostStore) -> None:
    store.keep_overhead("fast", replace(OVERHEAD, contention=0.25))
    own = store.profile(FACTS, "fast")
    assert own is not None
    alone = own.predict({"numbers": 8e4}).cpu_cores
    assert own.predict({"numbers": 8e4}, neighbours_cores=2.0).cpu_cores == pytest.approx(1.5 * alone)
    assert own.choose(1e4, neighbours_cores=2.0).cpu_cores == pytest.approx(1.5 * own.choose(1e4).cpu_cores)
    assert learned(FACTS, measured(*RATES), replace(OVERHEAD, contention=0.25)).contention == 0.25
