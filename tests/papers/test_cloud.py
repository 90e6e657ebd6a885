"""CLOUD: oldest-first scheduling (2.2), scopes of bin-packing (3), the search by simulation (4), its Figures 2 to 4."""

from __future__ import annotations

from collections import defaultdict
from statistics import mean

import numpy as np
import pytest

from benchmarks.cloud.granularity import MERGE_S
from benchmarks.cloud.scopes import image_model, image_nodes, scopes
from benchmarks.cloud.volatility import volatility
from penstock import twin

TWO = twin.Nodes((twin.Node("n", count=2),))
Packed = dict[tuple[str, int], tuple[str, int]]


def heights(packed: Packed, work_s: dict[tuple[str, int], float], nodes: twin.Nodes) -> dict[tuple[str, int], float]:
    """The time that each core works, by its speed."""
    speeds = {name: group.speed for group in nodes.groups for name in group.names}
    found: dict[tuple[str, int], float] = defaultdict(float)
    for partition, (node, core) in packed.items():
        found[node, core] += work_s[partition] / speeds[node]
    return dict(found)


def test_2_2_a_node_processes_the_oldest_data_that_it_has() -> None:
    """Two blocks at once: the first one goes through both operators before the second one is begun."""
    model = twin.Model(
        [twin.Source("s", twin.given([0.0, 0.1]))],
        [twin.Operator("a", ("s",), twin.constant(1.0)), twin.Operator("b", ("a",), twin.constant(1.0))],
    )
    log = twin.simulate(model, twin.Nodes((twin.Node("n1"),)), seconds=10, warm_up_s=0, record=True).log
    assert [(row.operator, int(row.block)) for row in log] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


def test_3_1_of_two_equal_operators_local_packing_gives_each_node_half_of_each() -> None:
    work_s = {(name, part): 1.0 for name in ("A", "B") for part in range(2)}
    by_operator = defaultdict(set)
    for (operator, _), (node, _) in twin.pack(work_s, TWO, "local").items():
        by_operator[operator].add(node)
    assert {len(nodes) for nodes in by_operator.values()} == {2}


def test_3_1_global_packing_balances_best_then_tiered_then_local() -> None:
    random = np.random.default_rng(4)
    model, nodes = image_model(0.5), image_nodes()
    worst = {"global": 0.0, "tiered": 0.0, "local": 0.0}
    for _ in range(30):
        work_s = {(own.name, part): float(random.exponential()) for own in model.operators for part in range(7)}
        for scope in worst:
            packed = twin.pack(work_s, nodes, scope, model.distances)
            worst[scope] += max(heights(packed, work_s, nodes).values())
    assert worst["global"] < worst["tiered"] < worst["local"]


def test_3_1_tiered_is_local_in_a_chain() -> None:
    work_s = {(name, part): 1.0 + part for name in ("A", "B") for part in range(3)}
    chain = {"A": 1, "B": 0}
    assert twin.pack(work_s, TWO, "tiered", chain) == twin.pack(work_s, TWO, "local", chain)


def test_3_3_the_height_of_a_partition_is_relative_to_the_node() -> None:
    nodes = twin.Nodes((twin.Node("fast", speed=3.0), twin.Node("slow")))
    work_s = {("a", part): 1.0 for part in range(8)}
    found = heights(twin.pack(work_s, nodes, "global"), work_s, nodes)
    assert found == {("fast", 0): pytest.approx(2.0), ("slow", 0): pytest.approx(2.0)}


def test_3_3_external_load_makes_a_node_slower() -> None:
    nodes = twin.Nodes((twin.Node("free"), twin.Node("shared", loads=(twin.Load(0.0, 1e9, 0.5),))))
    model = twin.Model([twin.Source("s", twin.poisson(20))], [twin.Operator("a", ("s",), twin.constant(0.05))])
    result = twin.simulate(model, nodes, seconds=200, warm_up_s=20)
    alone = twin.simulate(model, twin.Nodes((twin.Node("n", count=2),)), seconds=200, warm_up_s=20)
    assert result.latency.mean_s > alone.latency.mean_s


def test_4_2_the_search_ends_near_the_known_optimum_of_a_chain_of_10_identical_operators() -> None:
    work_s, best = 0.5, min(0.5 / p + MERGE_S * p for p in range(1, 65))
    operators = [
        twin.Operator(f"o{n}", ("s" if n == 0 else f"o{n - 1}",), twin.constant(work_s), merge_s=MERGE_S)
        for n in range(10)
    ]
    model = twin.Model([twin.Source("s", twin.constant(0.1))], operators)
    nodes = twin.Nodes((twin.Node("n", count=4, cores=16),))
    genetic, by_chance = (
        twin.search(model, nodes, simulations=300, method=method, seed=2, seconds=30)
        for method in ("genetic", "random")
    )
    assert 10 * best <= genetic.objective_s * 1.000001
    assert genetic.objective_s < 1.1 * 10 * best
    assert genetic.objective_s < by_chance.objective_s


def test_4_2_a_seed_speeds_the_search_up() -> None:
    work_s = (0.2, 0.8, 0.1, 0.5)
    operators = [
        twin.Operator(f"o{n}", ("s" if n == 0 else f"o{n - 1}",), twin.constant(own), merge_s=MERGE_S)
        for n, own in enumerate(work_s)
    ]
    model = twin.Model([twin.Source("s", twin.constant(0.1))], operators)
    nodes = twin.Nodes((twin.Node("n", count=2, cores=16),))
    deployed = twin.search(model, nodes, simulations=200, seed=9, seconds=30)
    scratch = twin.search(model, nodes, simulations=40, seed=1, seconds=30)
    seeded = twin.search(model, nodes, simulations=40, seed=1, seconds=30, start=deployed.partitions)
    assert seeded.history[0][1] < scratch.history[0][1]
    assert seeded.objective_s <= scratch.objective_s


def test_figure_2_unpinned_nodes_withstand_a_burst_and_a_slow_node_best() -> None:
    found = volatility(1)
    overall = {name: mean(by_second) for name, by_second in found.items()}
    assert min(overall, key=overall.__getitem__) == "unpinned"
    pinned = {name: own for name, own in overall.items() if name != "unpinned"}
    assert min(pinned, key=pinned.__getitem__) == "(3,3)"
    for from_s, to_s in ((10, 20), (40, 50)):
        part = {name: mean(own[from_s:to_s]) for name, own in found.items()}
        assert min(part, key=part.__getitem__) == "unpinned"


def test_figure_3_local_and_tiered_have_lower_latency_than_global_on_three_unequal_machines() -> None:
    found = scopes(range(1, 3), 400.0)
    assert max(found["local"], found["tiered"]) < found["global"]
    assert found["tiered"] == pytest.approx(found["local"], rel=0.25), "both perform similarly"
