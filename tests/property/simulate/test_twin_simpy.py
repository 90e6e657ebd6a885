"""For given draws the twin has the log of a plain SimPy model."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import twin
from tests.reference.simpy_twin import simpy_log

UNTIL_S = 80.0


def draws(seed: int, count: int, mean: float) -> np.ndarray:
    return np.random.default_rng(seed).exponential(mean, count)


LOCKS = st.lists(st.sampled_from(["gil", "queue"]), max_size=2, unique=True)


@st.composite
def chains(draw: Any, locks: Any = st.just(())) -> twin.Model:  # noqa: B008
    """One or two sources, and up to four operators, each read by at most one other."""
    seed = draw(st.integers(0, 10**6))
    names = [f"s{n}" for n in range(draw(st.integers(1, 2)))]
    sources = [twin.Source(name, twin.given(np.cumsum(draws(seed + n, 60, 0.8)))) for n, name in enumerate(names)]
    free, operators = list(names), []
    for n in range(draw(st.integers(1, 4))):
        inputs = draw(st.lists(st.sampled_from(free), min_size=1, max_size=2, unique=True))
        mean_s = draw(st.sampled_from([0.1, 0.4, 0.9]))
        service = twin.given(draws(seed + 100 + n, 90, mean_s))
        held = dict(zip(draw(locks), draws(seed + 200 + n, 2, 0.2).tolist(), strict=False))
        operators.append(twin.Operator(f"o{n}", tuple(inputs), service, locks=held))
        free = [*(name for name in free if name not in inputs), f"o{n}"]
    return twin.Model(sources, operators)


def same_log(model: twin.Model, nodes: twin.Nodes, schedule: Any, pools: dict[str, int], cores: list[int]) -> None:
    expected = simpy_log(model, pools, cores, UNTIL_S)
    log = twin.simulate(model, nodes, schedule=schedule, seconds=UNTIL_S, warm_up_s=0, record=True).log
    assert [(str(row.operator), int(row.block)) for row in log] == [row[1:] for row in expected]
    assert np.allclose(log.time_s, [row[0] for row in expected], rtol=1e-12, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(chains(), st.integers(1, 4))
def test_shared_cores_have_the_log_of_simpy(model: twin.Model, cores: int) -> None:
    nodes = twin.Nodes((twin.Node("n1", cores=cores),))
    same_log(model, nodes, "oldest_first", {operator.name: 0 for operator in model.operators}, [cores])


@settings(max_examples=60, deadline=None)
@given(chains(), st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_pinned_nodes_have_the_log_of_simpy(model: twin.Model, cores: list[int]) -> None:
    names = [operator.name for operator in model.operators]
    nodes = twin.Nodes(tuple(twin.Node(f"n{n}", cores=cores[n]) for n in range(len(names))))
    pins = {"pinned": {f"n{n}": [name] for n, name in enumerate(names)}}
    same_log(model, nodes, pins, {name: n for n, name in enumerate(names)}, cores[: len(names)])


@settings(max_examples=60, deadline=None)
@given(chains(LOCKS), st.integers(1, 4))
def test_cores_that_wait_for_locks_have_the_log_of_simpy(model: twin.Model, cores: int) -> None:
    nodes = twin.Nodes((twin.Node("n1", cores=cores),))
    same_log(model, nodes, "oldest_first", {operator.name: 0 for operator in model.operators}, [cores])


@settings(max_examples=60, deadline=None)
@given(chains(LOCKS), st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_nodes_share_locks_as_in_simpy(model: twin.Model, cores: list[int]) -> None:
    names = [operator.name for operator in model.operators]
    nodes = twin.Nodes(tuple(twin.Node(f"n{n}", cores=cores[n]) for n in range(len(names))))
    pins = {"pinned": {f"n{n}": [name] for n, name in enumerate(names)}}
    same_log(model, nodes, pins, {name: n for n, name in enumerate(names)}, cores[: len(names)])
