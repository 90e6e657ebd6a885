"""The twin against closed forms and Markov chains: within 1 % at three sigma, by runs with different seeds."""

from __future__ import annotations

from math import factorial, sqrt

import numpy as np
import pytest

from penstock import twin

RUNS = 8
SLOW = pytest.mark.long


def station(rate: float, service: twin.Draws, **more: object) -> twin.Model:
    return twin.Model([twin.Source("s", twin.poisson(rate))], [twin.Operator("a", ("s",), service, **more)])  # type: ignore[arg-type]


def results(model: twin.Model, nodes: twin.Nodes, blocks: float, rate: float, **more: object) -> list[twin.Result]:
    seconds = blocks / RUNS / rate
    return [
        twin.simulate(model, nodes, seconds=seconds, warm_up_s=seconds / 20, seed=seed, **more)  # type: ignore[arg-type]
        for seed in range(1, RUNS + 1)
    ]


def agrees(found: list[float], expected: float, tolerance: float = 0.01) -> None:
    """The mean is what theory says, within three sigma; and three sigma are within the tolerance."""
    mean, sigma = float(np.mean(found)), float(np.std(found, ddof=1)) / sqrt(len(found))
    assert abs(mean - expected) <= max(3 * sigma, 1e-4 * expected), (mean, expected, sigma)
    assert 3 * sigma <= tolerance * expected, (sigma, expected)
    assert abs(mean - expected) <= tolerance * expected, (mean, expected)


def erlang_c(servers: int, load: float) -> float:
    """The probability of waiting in M/M/c; `load` = rate / service rate."""
    rho = load / servers
    last = load**servers / factorial(servers) / (1 - rho)
    return last / (sum(load**n / factorial(n) for n in range(servers)) + last)


def blocks_for(rho: float) -> float:
    """So many that three sigma of an M/M/1's mean queue are half a percent or so (Whitt 1989)."""
    return float(max(8e6, 8e5 / (1 - rho) ** 2))


@pytest.mark.parametrize(
    ("rho", "mean_s"),
    [(0.3, 0.001), (0.62, 0.02), pytest.param(0.8, 1.0, marks=SLOW), pytest.param(0.9, 0.001, marks=SLOW)],
)
def test_one_server_is_m_m_1(rho: float, mean_s: float) -> None:
    rate = rho / mean_s
    found = results(station(rate, twin.exponential(mean_s)), twin.Nodes((twin.Node("n1"),)), blocks_for(rho), rate)
    wait_s = rho / (1 - rho) * mean_s
    agrees([r.by_operator["a"].waiting_mean_s or 0 for r in found], wait_s)
    agrees([r.latency.mean_s or 0 for r in found], wait_s + mean_s)
    agrees([r.in_system_mean for r in found], rho / (1 - rho))
    agrees([r.by_operator["a"].queue_mean for r in found], rho**2 / (1 - rho))
    agrees([r.latency.p95_s or 0 for r in found], -float(np.log(0.05)) * mean_s / (1 - rho), tolerance=0.015)
    agrees([r.by_node["n1"].busy_ratio for r in found], rho)
    agrees([r.throughput_tuples_s for r in found], rate)


@pytest.mark.parametrize(
    ("servers", "rho"),
    [(2, 0.5), (3, 0.8), pytest.param(8, 0.9, marks=SLOW), pytest.param(40, 0.9, marks=SLOW)],
)
def test_a_node_of_several_cores_is_m_m_c(servers: int, rho: float) -> None:
    rate = rho * servers
    nodes = twin.Nodes((twin.Node("n1", cores=servers),))
    found = results(station(rate, twin.exponential(1.0)), nodes, blocks_for(rho), rate)
    wait_s = erlang_c(servers, rate) / (servers - rate)
    agrees([r.latency.mean_s or 0 for r in found], wait_s + 1.0)
    if servers < 8:  # of many servers few blocks wait, and three sigma are more than 1 %
        agrees([r.by_operator["a"].queue_mean for r in found], wait_s * rate)


def test_one_core_each_on_several_nodes_is_m_m_c_too() -> None:
    found = results(station(2.4, twin.exponential(1.0)), twin.Nodes((twin.Node("n", count=3),)), 1.6e7, 2.4)
    agrees([r.latency.mean_s or 0 for r in found], erlang_c(3, 2.4) / 0.6 + 1.0)


@pytest.mark.parametrize("rho", [0.4, 0.75, pytest.param(0.9, marks=SLOW)])
def test_constant_service_is_m_d_1(rho: float) -> None:
    found = results(station(rho, twin.constant(1.0)), twin.Nodes((twin.Node("n1"),)), blocks_for(rho), rho)
    agrees([r.by_operator["a"].waiting_mean_s or 0 for r in found], rho / (2 * (1 - rho)))


@pytest.mark.parametrize(
    ("rho", "places"), [(0.7, 3), pytest.param(0.9, 5, marks=SLOW), pytest.param(1.2, 2, marks=SLOW), (0.5, 0)]
)
def test_a_bounded_queue_that_drops_loses_as_m_m_1_k(rho: float, places: int) -> None:
    """`places` blocks may wait: K = places + 1 with the one in service."""
    k = places + 1
    lost = (1 - rho) * rho**k / (1 - rho ** (k + 1))
    model = station(rho, twin.exponential(1.0), queue_blocks=places, when_full="drop")
    found = results(model, twin.Nodes((twin.Node("n1"),)), 4e7, rho)
    agrees([own.dropped / (own.dropped + own.blocks) for own in (r.by_operator["a"] for r in found)], lost)
    agrees([r.throughput_tuples_s for r in found], rho * (1 - lost))


def tandem_chain(rate: float, first: float, second: float, places: int, most: int = 400) -> tuple[float, float]:
    """Throughput and mean number in system of M/M/1 -> /M/1 with so many places to wait, blocking after service.

    States (n, m): n blocks at the first station, m = blocks at the second; m = places + 2: one more is finished at the
    first station, has no room, and holds its server.
    """
    second_states = places + 3
    p = np.zeros((most, second_states))
    up = rate * np.eye(second_states)  # levels n are a block-tridiagonal system, solved from the top

    def level(n: int) -> tuple[np.ndarray, np.ndarray]:
        down, local = np.zeros((second_states,) * 2), np.zeros((second_states,) * 2)
        blocked = second_states - 1
        for m in range(second_states):
            waits_at_first = n - (1 if m == blocked else 0)
            if m > 0:
                if m == blocked:
                    down[m, m - 1] += second  # the blocked one moves on: it leaves the first station
                else:
                    local[m, m - 1] += second
            if m < blocked and waits_at_first > 0:
                if m < blocked - 1:
                    down[m, m + 1] += first
                else:
                    local[m, blocked] += first
        return down, local

    ratio = np.zeros((most, second_states, second_states))
    for n in range(most - 1, -1, -1):
        down, local = level(n)
        out = down.sum(1) + local.sum(1) + (rate if n < most - 1 else 0.0)
        inside = local - np.diag(out)
        if n < most - 1:
            next_down, _ = level(n + 1)
            inside = inside + ratio[n + 1] @ next_down
        if n > 0:
            ratio[n] = up @ np.linalg.inv(-inside)
        else:
            values, vectors = np.linalg.eig(inside.T)
            p[0] = np.real(vectors[:, np.argmin(abs(values))])
    for n in range(1, most):
        p[n] = p[n - 1] @ ratio[n]
    p /= p.sum()
    blocked = second_states - 1
    at_second = np.minimum(np.arange(second_states), blocked - 1)
    return second * float(p[:, 1:].sum()), float((p * (np.arange(most)[:, None] + at_second[None, :])).sum())


@pytest.mark.parametrize(
    ("rate", "places"), [pytest.param(0.5, 0, marks=SLOW), (0.6, 1), pytest.param(0.6, 3, marks=SLOW)]
)
def test_a_bounded_tandem_blocks_as_its_markov_chain(rate: float, places: int) -> None:
    model = twin.Model(
        [twin.Source("s", twin.poisson(rate))],
        [
            twin.Operator("a", ("s",), twin.exponential(1.0)),
            twin.Operator("b", ("a",), twin.exponential(1.0), queue_blocks=places),
        ],
    )
    nodes = twin.Nodes((twin.Node("n1"), twin.Node("n2")))
    found = results(model, nodes, 2.4e7, rate, schedule={"pinned": {"n1": ["a"], "n2": ["b"]}})
    throughput, in_system = tandem_chain(rate, 1.0, 1.0, places)
    agrees([r.throughput_tuples_s for r in found], throughput)
    agrees([r.in_system_mean for r in found], in_system)
    agrees([r.latency.mean_s or 0 for r in found], in_system / throughput)


def test_littles_law_holds_in_every_run() -> None:
    model = twin.Model(
        [twin.Source("s", twin.poisson(2.0))],
        [
            twin.Operator("a", ("s",), twin.exponential(0.3), partitions=2, merge_s=0.01),
            twin.Operator("b", ("a",), twin.exponential(0.5), serial=False, queue_blocks=5),
            twin.Operator("c", ("b",), twin.constant(0.2), serial=True),
        ],
    )
    for seed in range(5):
        r = twin.simulate(
            model, twin.Nodes((twin.Node("n", count=2, cores=2),)), seconds=20_000, warm_up_s=100, seed=seed
        )
        assert r.in_system_mean == pytest.approx(r.throughput_tuples_s * (r.latency.mean_s or 0), rel=0.005)


def test_an_idle_chain_has_the_latency_of_its_parts() -> None:
    works, parts, merge_s = [0.8, 0.2, 0.6], [4, 1, 3], 0.01
    operators = [
        twin.Operator(f"o{n}", ("s" if n == 0 else f"o{n - 1}",), twin.constant(work), partitions=p, merge_s=merge_s)
        for n, (work, p) in enumerate(zip(works, parts, strict=True))
    ]
    model = twin.Model([twin.Source("s", twin.constant(0.1))], operators)
    r = twin.simulate(model, twin.Nodes((twin.Node("n", cores=8),)), seconds=1000, warm_up_s=100)
    assert r.latency.mean_s == pytest.approx(sum(w / p + merge_s * p for w, p in zip(works, parts, strict=True)))


@pytest.mark.parametrize("rho", [0.6, pytest.param(0.8, marks=SLOW)])
def test_a_lock_on_many_cores_is_m_d_1(rho: float) -> None:
    model = station(rho, twin.constant(0.0), locks={"lock": 1.0})
    found = results(model, twin.Nodes((twin.Node("n1", cores=200),)), blocks_for(rho), rho)
    agrees([r.latency.mean_s or 0 for r in found], rho / (2 * (1 - rho)) + 1.0)


@pytest.mark.parametrize(("cores", "alone_s", "held_s"), [(1, 0.3, 0.2), (2, 0.3, 0.2), (3, 0.3, 0.2), (8, 0.0, 1.0)])
def test_threads_that_hold_one_lock_are_as_fast_as_it_lets_them_be(cores: int, alone_s: float, held_s: float) -> None:
    operators = [twin.Operator(f"o{n}", ("s",), twin.constant(alone_s), locks={"gil": held_s}) for n in range(2)]
    model = twin.Model([twin.Source("s", twin.poisson(20.0))], operators)
    r = twin.simulate(model, twin.Nodes((twin.Node("n1", cores=cores),)), seconds=4000, warm_up_s=400)
    expected = min(cores / (alone_s + held_s), 1 / held_s)
    assert r.throughput_tuples_s == pytest.approx(expected, rel=0.002)
    assert r.by_node["n1"].busy_ratio == pytest.approx(1.0)
