"""Sources of one element are read at once, in tasks of their own: in predictions, choices, and what is learned."""

from __future__ import annotations

from dataclasses import replace

import pytest

import penstock as ps
from penstock.model.costs.communication import Communication
from penstock.model.costs.composition import Composition
from penstock.model.costs.flows import flows_of
from penstock.model.costs.learning.learned_profile import Overhead, learned
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.learning.samples import ElementSample, OperatorSample, Sample
from penstock.model.costs.node_speed import speed_on
from penstock.model.costs.profile import FixedCosts, OperatorCost, Profile
from penstock.model.costs.task_groups import replicas_of, task_groups
from tests.reference.costs import line

LEFT, RIGHT, JOIN = 4e-6, 2e-6, 1e-6  # s per tuple
RATES = {"left": 5e4, "right": 5e4}
APART = [["left", "right"], ["join"]]
WINDOW = ps.sliding(count=2)
FREE = Communication()


def join(*more: OperatorCost, scope: str = "key") -> Profile:
    """Two sources and a join by key; each task costs 0.01 s."""
    reads = "pass" if more else "left"
    return Profile(
        (
            OperatorCost("left", line(LEFT), {"left": line(1.0)}, ()),
            OperatorCost("right", line(RIGHT), {"right": line(1.0)}, ()),
            *more,
            OperatorCost("join", line(JOIN, 2), {}, (reads, "right"), scope=scope, by=("k",)),  # type: ignore[arg-type]
        ),
        FixedCosts(task_cpu_s=0.01),
    )


def passing(cost_s: float) -> OperatorCost:
    return OperatorCost("pass", line(cost_s), {"pass": line(1.0)}, ("left",))


def test_a_stage_takes_as_long_as_the_dearer_source() -> None:
    q = join().predict(RATES, APART)
    assert q.elements["left"].cpu_cores == pytest.approx(5e4 * (LEFT + RIGHT) + 2 * 0.01)
    assert q.stage_s["left"] == pytest.approx(5e4 * LEFT + 0.01)
    assert q.max_rate_tuples_s == pytest.approx((1 - 2 * 0.01) / (LEFT / 2 + JOIN), rel=1e-6)


def test_what_runs_behind_a_source_is_in_its_tasks() -> None:
    q = join(passing(3e-6)).predict(RATES, [["left", "right", "pass"], ["join"]])
    assert q.stage_s["left"] == pytest.approx(5e4 * (LEFT + 3e-6) + 0.01)


def test_tasks_run_one_after_another_where_cores_are_too_few() -> None:
    assert join().predict(RATES, APART, cores=2).stage_s["left"] == pytest.approx(5e4 * LEFT + 0.01)
    assert join().predict(RATES, APART, cores=1).stage_s["left"] == pytest.approx(5e4 * (LEFT + RIGHT) + 0.02)


def test_replicas_are_dealt_out_to_sources_by_their_tuples() -> None:
    """Three times as many tuples: three tasks of four, as the stream's reader cuts them."""
    q = join().predict({"left": 9e4, "right": 3e4}, APART, replicas={"left": 4})
    assert q.elements["left"].tasks == ((3, pytest.approx(3e4 * LEFT + 0.01)), (1, pytest.approx(3e4 * RIGHT + 0.01)))


def test_sources_with_an_operator_over_all_tuples_are_read_in_one_task() -> None:
    for scope in ("key", "stream"):
        q = join(scope=scope).predict(RATES, [["left", "right", "join"]])
        assert q.stage_s["left"] == pytest.approx(5e4 * (LEFT + RIGHT + 2 * JOIN) + 0.01)


def test_one_source_has_the_tasks_of_its_replicas() -> None:
    one = Profile((OperatorCost("a", line(LEFT), {"a": line(1.0)}, ()),))
    assert one.predict({"a": 5e4}, replicas={"a": 2}).elements["a"].tasks == ((2, pytest.approx(2.5e4 * LEFT)),)


def test_a_task_of_the_first_element_sends_on_the_rows_of_other_elements_sources() -> None:
    q = join().predict(RATES, [["left"], ["right"], ["join"]])
    assert q.elements["left"].tasks == ((1, pytest.approx(5e4 * LEFT + 0.01)), (1, pytest.approx(0.01)))
    assert q.elements["right"].tasks == ((1, pytest.approx(5e4 * RIGHT + 0.01)),)


def test_a_union_next_to_its_sources_works_in_the_tasks_of_both() -> None:
    union = OperatorCost("union", line(2e-6, 2), {"union": line(1.0, 2)}, ("left", "right"))
    profile = Profile((*join().operators[:2], union), FixedCosts(task_cpu_s=0.01))
    own = profile.predict({"left": 6e4, "right": 2e4}, [["left", "right", "union"]]).elements["left"]
    assert own.tasks == (
        (1, pytest.approx(6e4 * (LEFT + 2e-6) + 0.01)), (1, pytest.approx(2e4 * (RIGHT + 2e-6) + 0.01)),
    )  # fmt: skip
    assert sum(own.parts.values()) == pytest.approx(own.cpu_cores)


def test_a_choice_counts_on_the_tasks_of_both_sources() -> None:
    """A rate that one task could not read is sustained without replicas, and as predicted."""
    nodes = ps.costs.Nodes((ps.costs.Node("n", cores=2),))
    rates = {"left": 1.5e5, "right": 1.5e5}
    found = join().choose(rates, nodes)
    assert found.elements == (("left", "right"), ("join",))
    assert found.replicas == {"left": 1, "join": 1}
    q = join().predict(rates, found.elements, replicas=found.replicas, cores=2)
    assert (found.cpu_cores, found.batch_time_s) == pytest.approx((q.cpu_cores, q.batch_time_s))


def test_a_choice_on_one_core_reads_sources_one_after_another() -> None:
    found = join().choose(RATES, ps.costs.Nodes((ps.costs.Node("n"),)))
    q = join().predict(RATES, found.elements, cores=1)
    assert (found.cpu_cores, found.batch_time_s) == pytest.approx((q.cpu_cores, q.batch_time_s))


def test_a_choice_names_the_hosts_of_all_tasks() -> None:
    nodes = ps.costs.Nodes((ps.costs.Node("n", count=3),))
    found = join().choose({"left": 1.5e5, "right": 1.5e5}, nodes)
    assert found.hosts["left"] == ("n-1", "n-2")


def test_the_replicas_of_a_run_follow_from_its_tasks() -> None:
    profile = join()
    flows = flows_of(profile, {"left": 9e4, "right": 3e4})
    for replicas in (1, 4):
        tasks = sum(own.tasks for own in task_groups(profile, flows, ("left", "right"), replicas))
        again = replicas_of(profile, flows, ("left", "right"), tasks)
        assert sum(own.tasks for own in task_groups(profile, flows, ("left", "right"), again)) == tasks
    assert replicas_of(profile, flows, ("join",), 3) == 3


def test_a_constant_counts_once_for_each_task_of_its_source() -> None:
    """So drift of a run with two tasks, one for each source, is judged by one constant for each."""
    at_rest = ps.costs.ResourceFunction((ps.costs.Term((0,), 0.1),))
    own = tuple(replace(each, cpu=at_rest) if not each.inputs else each for each in join().operators)
    profile = replace(join(), operators=own)
    flows = flows_of(profile, RATES)
    element = Composition(profile, flows, speed_on(profile, None)).element(("left", "right"), 1)
    assert element.parts["operators"] == pytest.approx(0.2)


def two_sources(rate_tuples_s: float | None = None) -> ps.Application:
    app = ps.Application("two")
    left, right = (app.source(name, schema={"k": "int64"}, rate_tuples_s=rate_tuples_s) for name in ("left", "right"))
    left.join("join", right, on="k", left_window=WINDOW, right_window=WINDOW, emit={"k": "left.k"}).sink("out")
    return app


def element(left: int, right: int) -> ElementSample:
    """Both sources in two tasks, which take 2 us a tuple besides what the clock saw in reading them."""
    tuples = {"left": float(left), "right": float(right)}
    timed = {name: OperatorSample(1e-6 * count, count, count) for name, count in tuples.items()}
    cpu_s = 3e-6 * (left + right) + 2 * 0.01
    return ElementSample(cpu_s, cpu_s, cpu_s, cpu_s / 2, 2, {}, tuples, {}, {}, timed)


def test_what_sources_take_besides_reading_is_shared_by_their_tuples() -> None:
    """So that neither task is predicted to take all of it, and sources with one key in the store have one function."""
    facts, inside = facts_of(two_sources().graph), {"left": ("left", "right")}
    measured = [
        (Sample(3.0 * n, 1.0, 0.0, None, {"left": element(2 * n, n)}), inside) for n in (20_000, 40_000, 60_000, 80_000)
    ]
    found = learned({name: facts[name] for name in ("left", "right")}, measured, Overhead(FixedCosts(0.0, 0.01), FREE))
    for name in ("left", "right"):
        assert found.operator(name).cpu.at([1e5]) == pytest.approx(0.3, rel=1e-3)
    own = found.predict({"left": 1e5, "right": 5e4}, [["left", "right"]]).elements["left"]
    assert own.tasks == ((1, pytest.approx(0.31, rel=1e-3)), (1, pytest.approx(0.16, rel=1e-3)))


def test_sources_and_sinks_divide_as_what_they_run_with() -> None:
    """Sources whose tuples one task puts in order, since their stamps are known only from them, divide nothing."""
    for rate, scope in ((None, "none"), (10.0, "stream")):
        assert [own.scope for own in facts_of(two_sources(rate).graph).values()] == [scope, scope, "stream", "none"]
    lone = ps.Application("lone")
    lone.source("n", schema={"x": "int64"}).functor("f", emit={"y": "x + 1"}).sink("out")
    assert [own.scope for own in facts_of(lone.graph).values()] == ["none", "none", "none"]
