"""For given draws the event loop has the same log as the slow, obvious simulator."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import twin
from tests.reference.twin import Plain


def rows_of(log: Any) -> list[tuple[str, int, int, str]]:
    return [(str(r.operator), int(r.partition), int(r.block), str(r.node)) for r in log]


def same_log(model: twin.Model, nodes: twin.Nodes, pins: dict[str, list[str]], until_s: float) -> None:
    arrivals = {source.name: list(np.asarray(source.arrivals.values)) for source in model.sources}
    services = {operator.name: list(np.asarray(operator.service.values)) for operator in model.operators}
    expected = Plain(model, nodes, arrivals, services, pins)
    rows = expected.logged(until_s)
    result = twin.simulate(
        model, nodes, schedule={"pinned": pins} if pins else "oldest_first", seconds=until_s, warm_up_s=0, record=True
    )
    assert np.allclose([row[0] for row in rows], result.log.time_s, rtol=1e-12, atol=1e-12)
    assert rows_of(result.log) == [row[1:] for row in rows]
    assert {name: own.dropped for name, own in result.by_operator.items()} == expected.dropped


def draws(seed: int, count: int, mean: float) -> list[float]:
    return [float(x) for x in np.random.default_rng(seed).exponential(mean, count)]


@st.composite
def graphs(draw: Any, *, bounded: bool) -> tuple[twin.Model, list[str]]:
    """One or two sources and up to five operators; each reads one or two of those before it."""
    seed = draw(st.integers(0, 10**6))
    sources = [
        twin.Source(f"s{n}", twin.given(np.cumsum(draws(seed + n, 40, 1.0)))) for n in range(draw(st.integers(1, 2)))
    ]
    names = [source.name for source in sources]
    operators = []
    for n in range(draw(st.integers(1, 5))):
        inputs = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
        operators.append(
            twin.Operator(
                f"o{n}", tuple(inputs), twin.given(draws(seed + 100 + n, 60, draw(st.sampled_from([0.1, 0.5, 1.0])))),
                partitions=draw(st.integers(1, 3)), serial=draw(st.booleans()),
                queue_blocks=draw(st.sampled_from([None, 1, 2, 5])) if bounded else None,
                when_full=draw(st.sampled_from(["block", "drop"])), merge_s=draw(st.sampled_from([0.0, 0.05])),
            )
        )  # fmt: skip
        names.append(f"o{n}")
    return twin.Model(sources, operators), [operator.name for operator in operators]


NODES = (
    twin.Nodes((twin.Node("n1"),)),
    twin.Nodes((twin.Node("n1", cores=3),)),
    twin.Nodes((twin.Node("n1", cores=2, speed=2.0), twin.Node("n2"), twin.Node("n3", speed=0.5))),
)


@settings(max_examples=60, deadline=None)
@given(graphs(bounded=False), st.sampled_from(NODES))
def test_any_graph_on_any_nodes_has_the_plain_log(graph: tuple[twin.Model, list[str]], nodes: twin.Nodes) -> None:
    same_log(graph[0], nodes, {}, 60.0)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_bounded_queues_on_pinned_nodes_have_the_plain_log(data: Any) -> None:
    model, names = data.draw(graphs(bounded=True))
    nodes = twin.Nodes(tuple(twin.Node(f"n{n}", cores=data.draw(st.integers(1, 2))) for n in range(len(names))))
    same_log(model, nodes, {f"n{n}": [name] for n, name in enumerate(names)}, 60.0)


@settings(max_examples=50, deadline=None)
@given(graphs(bounded=True), st.sampled_from(NODES[1:]), st.integers(1, 9))
def test_no_block_is_lost_or_doubled_on_shared_cores(
    graph: tuple[twin.Model, list[str]], nodes: twin.Nodes, seed: int
) -> None:
    model, _ = graph
    result = twin.simulate(model, nodes, seconds=100_000, warm_up_s=0, record=True, seed=seed)
    done = {name: own.blocks for name, own in result.by_operator.items()}
    came: Counter[str] = Counter()
    for operator in model.operators:
        sent = sum(done.get(name, 40) for name in operator.inputs)
        came[operator.name] = sent - result.by_operator[operator.name].dropped
    assert done == dict(came)
    assert result.in_system_mean == pytest.approx(
        sum(own.in_operator_mean for own in result.by_operator.values()), rel=0.5
    ) or any(operator.queue_blocks is not None for operator in model.operators)
