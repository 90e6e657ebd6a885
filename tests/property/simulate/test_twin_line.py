"""A line of stations without a heap against the event loop: the same figures, wherever it is interrupted.

To the bit, but for blocks that are still there at the end, which are added up in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import twin
from penstock.plan.nodes import Network
from penstock.simulate.events.layout import new_state
from penstock.simulate.events.lines import line_of
from penstock.simulate.events.machines import machines_of
from penstock.simulate.events.results import result_of, set_back
from penstock.simulate.events.simulation import run_until

Line = tuple[twin.Model, twin.Nodes, dict[str, list[str]]]


def arrivals(draw: Any, seed: int) -> twin.Draws:
    kind = draw(st.sampled_from(["poisson", "constant", "given", "trace", "even trace"]))
    random = np.random.default_rng(seed)
    if kind == "poisson":
        return twin.poisson(draw(st.sampled_from([0.5, 2.0, 30.0])))
    if kind == "constant":
        return twin.constant(draw(st.sampled_from([0.5, 1.0, 4.0])))
    if kind == "given":
        return twin.given([float(x) for x in np.cumsum(random.choice([0.0, 0.25, 1.0], 60))])
    return twin.trace(random.integers(0, 6, 40).tolist(), 1.0, random=kind == "trace")


def service(draw: Any, seed: int) -> twin.Draws:
    mean = draw(st.sampled_from([0.0625, 0.5, 1.0]))
    random = np.random.default_rng(seed)
    kinds = (twin.exponential(mean), twin.constant(mean), twin.given(random.exponential(mean, 7).tolist()))
    found: twin.Draws = draw(st.sampled_from(kinds))
    return found


@st.composite
def lines(draw: Any) -> Line:
    """Up to six stations in a row, on nodes in another order than they are, of unequal speed."""
    seed, number = draw(st.integers(0, 10**6)), draw(st.integers(1, 6))
    operators = [
        twin.Operator(
            f"o{n}", ("s" if n == 0 else f"o{n - 1}",), service(draw, seed + n),
            selectivity=draw(st.sampled_from([1.0, 0.4, 1.7])), serial=draw(st.booleans()),
        )
        for n in range(number)
    ]  # fmt: skip
    source = twin.Source("s", arrivals(draw, seed), block_tuples=draw(st.sampled_from([1, 3])))
    speeds = [draw(st.sampled_from([1.0, 0.7, 3.0])) for _ in range(number)]
    nodes = twin.Nodes(tuple(twin.Node(f"n{n}", speed=speed) for n, speed in enumerate(speeds)))
    order = draw(st.permutations(range(number)))
    return twin.Model([source], operators), nodes, {f"n{node}": [f"o{n}"] for n, node in enumerate(order)}


def figures(own: Line, moments: list[float], without_heap: list[bool], seed: int, schedule: Any = None) -> Any:
    """The result of a run in parts, each with or without a heap; statistics begin anew after the first."""
    model, nodes, pins = own
    machines = machines_of(model, nodes, schedule or {"pinned": pins})
    state = new_state(model, machines, nodes.network, seed)
    line = line_of(state)
    assert line is not None
    for place, moment in enumerate(moments):
        state = run_until(state, moment, [], line if without_heap[place] else None)
        if place == 0:
            set_back(state)
    return result_of(model, machines, state)


def same(one: twin.Result, other: twin.Result) -> bool:
    with_rest = {"in_system_mean", "queue_mean", "in_operator_mean"}
    ones, others = dict(_flat(one.as_json())), dict(_flat(other.as_json()))
    exact = all(own == others[name] for name, own in ones.items() if name[-1] not in with_rest)
    return exact and all(
        own == pytest.approx(others[name], rel=1e-12, abs=1e-12) for name, own in ones.items() if name[-1] in with_rest
    )


def _flat(body: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(body, dict):
        yield path, body
        return
    for name, own in body.items():
        yield from _flat(own, (*path, name))


@settings(max_examples=150, deadline=None)
@given(lines(), st.lists(st.sampled_from([0.25, 1.0, 7.0, 40.0]), min_size=2, max_size=5), st.data())
def test_a_line_without_a_heap_has_all_figures_of_the_event_loop(own: Line, lengths: list[float], data: Any) -> None:
    moments, seed = np.cumsum(lengths).tolist(), data.draw(st.integers(0, 99))
    plain = figures(own, moments, [False] * len(moments), seed)
    assert same(figures(own, moments, [True] * len(moments), seed), plain)
    turns = [data.draw(st.booleans()) for _ in moments]
    assert same(figures(own, moments, turns, seed), plain)


def test_a_line_that_falls_behind_keeps_all_blocks() -> None:
    operators = [twin.Operator(f"o{n}", ("s" if n == 0 else f"o{n - 1}",), twin.constant(1.0 + n)) for n in range(2)]
    own = (
        twin.Model([twin.Source("s", twin.poisson(20.0))], operators),
        twin.Nodes((twin.Node("n0"), twin.Node("n1"))),
        {"n0": ["o0"], "n1": ["o1"]},
    )
    found = figures(own, [100.0, 400.0, 900.0], [True] * 3, 3)
    assert same(found, figures(own, [100.0, 400.0, 900.0], [False] * 3, 3))
    assert found.by_operator["o0"].queue_mean > 5_000


@pytest.mark.parametrize(
    ("more", "nodes"),
    [
        ({"partitions": 2}, {}), ({"replicas": 2}, {}), ({"merge_s": 0.1}, {}), ({"queue_blocks": 3}, {}),
        ({}, {"cores": 2}), ({}, {"count": 2}), ({}, {"loads": (twin.Load(5.0, 9.0, 0.5),)}),
    ],
)  # fmt: skip
def test_what_changes_the_order_of_blocks_goes_through_the_event_loop(more: Any, nodes: Any) -> None:
    model = twin.Model([twin.Source("s", twin.poisson(1.0))], [twin.Operator("a", ("s",), twin.constant(0.1), **more)])
    machines = twin.Nodes((twin.Node("n", **nodes),))
    state = new_state(model, machines_of(model, machines, "oldest_first"), machines.network, 1)
    assert line_of(state) is None


def test_branches_joins_and_networks_go_through_the_event_loop() -> None:
    source, a = twin.Source("s", twin.poisson(1.0)), twin.Operator("a", ("s",), twin.constant(0.1))
    beside = twin.Operator("b", ("s",), twin.constant(0.1))
    after = twin.Operator("c", ("s", "a"), twin.constant(0.1))
    nodes = twin.Nodes(tuple(twin.Node(f"n{n}") for n in range(2)))
    for other in (beside, after):
        model = twin.Model([source], [a, other])
        pins = {"pinned": {"n0": ["a"], "n1": [other.name]}}
        assert line_of(new_state(model, machines_of(model, nodes, pins), nodes.network, 1)) is None
    line = twin.Model([source], [a])
    alone = twin.Nodes((twin.Node("n"),))
    assert line_of(new_state(line, machines_of(line, alone, "fifo"), alone.network, 1)) is not None
    assert line_of(new_state(line, machines_of(line, alone, "fifo"), Network(None, 0.001), 1)) is None
