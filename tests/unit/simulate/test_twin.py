"""What the twin does with nodes, loads, outages, the network, replicas and schedules; and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from penstock import twin
from penstock.app.application import Application
from penstock.errors import ApplicationError, InputError
from penstock.plan.configuration import Configuration, ElementConfiguration

ONE = twin.Nodes((twin.Node("n1"),))


def chain(*services: twin.Draws, arrivals: twin.Draws | None = None, **more: Any) -> twin.Model:
    operators = [
        twin.Operator(f"o{n}", ("s" if n == 0 else f"o{n - 1}",), service, **more) for n, service in enumerate(services)
    ]
    return twin.Model([twin.Source("s", arrivals or twin.given([0.0]))], operators)


def finished(model: twin.Model, nodes: twin.Nodes, **more: Any) -> list[tuple[float, str, str]]:
    log = twin.simulate(model, nodes, seconds=1000, warm_up_s=0, record=True, **more).log
    return [(round(float(row.time_s), 9), str(row.operator), str(row.node)) for row in log]


def test_a_node_works_at_its_speed_by_class() -> None:
    node = twin.Node("n1", speed=2.0, speed_by_class={"join": 0.5})
    model = twin.Model(
        [twin.Source("s", twin.given([0.0]))],
        [
            twin.Operator("a", ("s",), twin.constant(1.0)),
            twin.Operator("b", ("a",), twin.constant(1.0), operator_class="join"),
        ],
    )
    assert finished(model, twin.Nodes((node,))) == [(0.5, "a", "n1"), (2.5, "b", "n1")]


@pytest.mark.parametrize("mode", ["continuous", "micro_batch"])
def test_an_operator_without_a_class_has_the_speed_of_its_name(mode: str) -> None:
    by_name = twin.Node("n1", speed=2.0, speed_by_class={"o1": 0.5})
    by_class = twin.Node("n1", speed=2.0, speed_by_class={"join": 0.5})
    services = [twin.constant(0.5), twin.constant(0.25)]
    named, classed = chain(*services), chain(*services)
    classed = twin.Model(classed.sources, (classed.operators[0], replace(classed.operators[1], operator_class="join")))
    one, other = (
        twin.simulate(model, twin.Nodes((node,)), mode=mode, seconds=60, warm_up_s=0)
        for model, node in ((named, by_name), (classed, by_class))
    )
    assert one.latency.mean_s is not None
    assert one == other


def test_the_fastest_idle_core_is_taken() -> None:
    nodes = twin.Nodes((twin.Node("slow", speed=0.5), twin.Node("fast", speed=2.0)))
    model = chain(twin.constant(1.0), arrivals=twin.given([0.0, 0.1, 0.2]))
    assert finished(model, nodes) == [(0.5, "o0", "fast"), (1.0, "o0", "fast"), (2.1, "o0", "slow")]


def test_a_load_slows_work_down_from_its_beginning_to_its_end() -> None:
    node = twin.Node("n1", loads=(twin.Load(1.0, 3.0, 0.5),))
    assert finished(chain(twin.constant(4.0)), twin.Nodes((node,))) == [(5.0, "o0", "n1")]


def test_a_load_of_whole_cores_leaves_the_others_alone_and_moves_work() -> None:
    node = twin.Node("n1", cores=2, loads=(twin.Load(1.0, 9.0, 1.0),))
    model = chain(twin.constant(2.0), arrivals=twin.given([0.0, 0.0]))
    assert finished(model, twin.Nodes((node,))) == [(2.0, "o0", "n1"), (3.0, "o0", "n1")]


def test_after_an_outage_blocks_begin_again() -> None:
    node = twin.Node("n1", outages=(twin.Outage(1.0, 5.0),))
    assert finished(chain(twin.constant(2.0)), twin.Nodes((node,))) == [(7.0, "o0", "n1")]
    both = twin.Nodes((node, twin.Node("n2", speed=0.5)))
    assert finished(chain(twin.constant(2.0)), both) == [(5.0, "o0", "n2")]


def test_a_part_that_was_merging_goes_on_merging() -> None:
    node = twin.Node("n1", cores=2, loads=(twin.Load(1.05, 2.0, 2.0),))
    model = chain(twin.constant(2.0), partitions=2, merge_s=0.1)
    assert finished(model, twin.Nodes((node,)))[-1] == (2.15, "o0", "n1")


def test_a_node_that_begins_under_load_has_its_speed_afterwards() -> None:
    node = twin.Node("n1", speed=2.0, loads=(twin.Load(0.0, 1.0, 0.75),))
    assert finished(chain(twin.constant(2.0)), twin.Nodes((node,))) == [(1.75, "o0", "n1")]


def test_bytes_take_time_between_nodes_and_none_on_one() -> None:
    network = twin.Network(bytes_s=1000.0, latency_s=0.25)
    nodes = twin.Nodes((twin.Node("n1"), twin.Node("n2")), network)
    model = chain(twin.constant(1.0), twin.constant(1.0), twin.constant(1.0))
    pinned = {"pinned": {"n1": ["o0", "o1"], "n2": ["o2"]}}
    found = finished(model, nodes, schedule=pinned)
    assert [time_s for time_s, _, _ in found] == [1.35, 2.35, 3.7]  # 100 bytes and the latency: 0.35 s


def test_pinned_nodes_run_their_operators_and_the_others_the_rest() -> None:
    nodes = twin.Nodes((twin.Node("n", count=2), twin.Node("m")))
    model = chain(twin.constant(1.0), twin.constant(1.0), arrivals=twin.given([0.0, 0.1, 0.2]))
    log = twin.simulate(model, nodes, schedule={"pinned": {"n-2": ["o1"]}}, seconds=99, warm_up_s=0, record=True).log
    assert {(row.operator, row.node) for row in log} == {("o0", "n-1"), ("o0", "m"), ("o1", "n-2")}


def test_serial_replicas_share_blocks_by_slots() -> None:
    model = chain(twin.exponential(0.1), arrivals=twin.poisson(15.0), serial=True)
    plan = Configuration((ElementConfiguration("o0", 2, (0, 0, 0, 1)),))
    result = twin.simulate(model, twin.Nodes((twin.Node("n1", cores=8),)), plan, seconds=400, warm_up_s=10, record=True)
    first = float(np.mean(result.log.partition == 0))
    assert first == pytest.approx(0.68, abs=0.06)  # 11.25 of 10 tuples/s wanted, 3.75 of 10: the first one is full
    assert result.throughput_tuples_s == pytest.approx(13.75, rel=0.05)


def test_selectivity_lets_so_many_tuples_through() -> None:
    model = twin.Model(
        [twin.Source("s", twin.poisson(400.0), block_tuples=4)],
        [twin.Operator("a", ("s",), twin.constant(1e-4), selectivity=0.3)],
    )
    result = twin.simulate(model, ONE, seconds=600, warm_up_s=10)
    assert result.throughput_tuples_s == pytest.approx(120.0, rel=0.02)
    assert result.by_operator["a"].tuples_in_s == pytest.approx(400.0, rel=0.02)


def test_a_trace_gives_its_counts() -> None:
    for random in (True, False):
        model = chain(twin.constant(1e-4), arrivals=twin.trace([1000, 0, 3000], 10.0, random=random))
        log = twin.simulate(model, ONE, seconds=60, warm_up_s=0, record=True).log
        counts = np.histogram(log.time_s, [0, 10, 20, 30])[0]
        assert counts == pytest.approx([1000, 0, 3000], abs=200 if random else 1)


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    model = chain(twin.exponential(0.5), arrivals=twin.poisson(1.0))
    one, same, other = (
        twin.simulate(model, ONE, seconds=99, warm_up_s=0, seed=seed, record=True) for seed in (1, 1, 2)
    )
    assert one.log.tolist() == same.log.tolist() != other.log.tolist()
    assert one == same != other
    assert one != replace(one, log=None)


def test_figures_are_of_the_time_after_the_warm_up() -> None:
    model = chain(twin.constant(0.5), arrivals=twin.constant(1.0))
    result = twin.simulate(model, ONE, seconds=100, warm_up_s=90)
    assert result.throughput_tuples_s == pytest.approx(1.0, abs=0.11)
    assert result.by_node["n1"].busy_ratio == pytest.approx(0.5, abs=0.05)
    assert result.events == 99


def test_a_saturated_model_grows_and_still_ends() -> None:
    model = chain(twin.exponential(1.0), twin.exponential(1.0), arrivals=twin.poisson(500.0))
    result = twin.simulate(model, ONE, seconds=100, warm_up_s=10)
    assert result.in_system_mean > 20_000
    assert result.throughput_tuples_s == pytest.approx(0.5, rel=0.5)


def test_placed_parts_run_where_they_are_placed() -> None:
    nodes = twin.Nodes((twin.Node("n1", cores=2), twin.Node("n2")))
    model = chain(twin.constant(2.0), partitions=2, arrivals=twin.given([0.0, 0.5]))
    placed = {"placed": {("o0", 0): ("n1", 1), ("o0", 1): ("n2", 0)}}
    assert finished(model, nodes, schedule=placed) == [
        (1.0, "o0", "n1"), (1.0, "o0", "n2"), (2.0, "o0", "n1"), (2.0, "o0", "n2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: twin.trace([1, -2]), "counts of a trace are at least 0; got -2 in interval 2"),
        (lambda: twin.simulate(chain(twin.constant(1.0)), ONE, mode="continous"),
         "mode is one of continuous, micro_batch; got 'continous'; did you mean 'continuous'?"),
        (lambda: twin.simulate(chain(twin.constant(1.0)), ONE, schedule="oldest"),
         "schedule is one of oldest_first, fifo, nearest_to_sink, or {'pinned': {node: [operators]}}; got 'oldest'; "
         "did you mean 'oldest_first'?"),
        (lambda: twin.simulate(chain(twin.constant(1.0)), ONE, schedule={"pinned": {"n1": ["o"]}}),
         "the pinned schedule names operator 'o', which there is not; did you mean 'o0'?"),
        (lambda: twin.simulate(chain(twin.constant(1.0)), ONE, schedule={"pinned": {"nn1": ["o0"]}}),
         "the pinned schedule names node 'nn1', which there is not; did you mean 'n1'?"),
        (lambda: twin.simulate(chain(twin.constant(1.0), twin.constant(1.0)), ONE, schedule={"pinned": {"n1": ["o0"]}}),
         "the pinned schedule leaves no node for operator 'o1'"),
        (lambda: twin.simulate(chain(twin.constant(1.0)), ONE, {"b": 2}),
         "plan names operator 'b', which there is not"),
        (lambda: twin.simulate(chain(twin.constant(1.0)), ONE, seconds=5, warm_up_s=5),
         "warm_up_s is less than seconds, which is 5; got 5"),
        (lambda: twin.simulate(chain(twin.constant(1.0)), ONE, mode="micro_batch", schedule="fifo"),
         "a schedule other than 'oldest_first' is for mode 'continuous': in micro-batches a free core takes the next "
         "task; got 'fifo'"),
        (lambda: twin.simulate(chain(twin.constant(1.0)), ONE, costs=twin.MicroBatchCosts()),
         "costs of twin.simulate are those of mode='micro_batch'; got mode='continuous'"),
        (lambda: twin.simulate(chain(twin.constant(1.0)), ONE, rate_tuples_s=5.0),
         "rate_tuples_s of twin.simulate goes with a ps.Application; a twin.Model has its own rates and service "
         "times; got 5.0"),
        (lambda: twin.search(chain(twin.constant(1.0)), ONE, from_journal="out"),
         "from_journal of twin.search goes with a ps.Application; a twin.Model has its own rates and service times; "
         "got 'out'"),
        (lambda: twin.simulate(Application("x"), ONE), "application 'x' does not say what its operators cost; "
         "give twin.simulate a twin.Model, or from_journal= with a run of it, or from_profile="),
    ],
)  # fmt: skip
def test_a_mistake_has_its_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == sentence


def test_all_mistakes_of_a_model_are_told_at_once() -> None:
    service = twin.constant(1.0)
    with pytest.raises(ApplicationError) as raised:
        twin.Model(
            [twin.Source("s", twin.poisson(1))],
            [
                twin.Operator("a", ("b",), service), twin.Operator("b", ("a",), service),
                twin.Operator("c", ("t",), service), twin.Operator("c", ("s",), service),
            ],
        )  # fmt: skip
    assert str(raised.value).splitlines() == [
        "a model has each name once; 'c' comes twice",
        "operator 'c' reads 't', which there is not; there are: s, a, b, c, c",
        "a model has no cycles; got a -> b -> a",
    ]


def test_locks_are_refused_where_they_are_not_simulated() -> None:
    model = twin.Model(
        [twin.Source("s", twin.poisson(1.0))], [twin.Operator("a", ("s",), twin.constant(0.1), locks={"gil": 0.1})]
    )
    nodes = twin.Nodes((twin.Node("n", outages=(twin.Outage(5.0, 6.0),)),))
    with pytest.raises(InputError, match=r"locks \(gil\) are simulated on nodes without loads and outages"):
        twin.simulate(model, nodes, seconds=10, warm_up_s=0)
    with pytest.raises(InputError, match="operator 'a' has locks, which are simulated in continuous mode alone"):
        twin.simulate(model, twin.Nodes((twin.Node("n"),)), mode="micro_batch", seconds=10, warm_up_s=0)
    with pytest.raises(InputError, match=r"locks of twin\.Operator is a table of seconds, at least 0"):
        twin.Operator("a", ("s",), twin.constant(0.1), locks={"gil": -1.0})
