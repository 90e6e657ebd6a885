"""Routes that balance: within the bound where slots permit, and near the fewest moves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.routes.rebalance import imbalance, rebalance

loads = st.lists(st.floats(0, 10), min_size=1, max_size=40)


@given(load=loads, replicas=st.integers(1, 6), before=st.integers(1, 6), allowed=st.sampled_from([0.0, 0.05, 0.2]))
def test_every_slot_has_a_replica_and_moves_are_told(
    load: list[float], replicas: int, before: int, allowed: float
) -> None:
    old = [slot % before for slot in range(len(load))]
    result = rebalance(old, load, replicas, allowed)
    assert len(result.route) == len(load)
    assert all(0 <= r < replicas for r in result.route)
    assert list(result.moved) == [s for s in range(len(load)) if result.route[s] != old[s]]


@given(load=st.lists(st.floats(0.1, 10), min_size=2, max_size=40), replicas=st.integers(1, 6))
def test_a_route_within_the_bound_stays(load: list[float], replicas: int) -> None:
    first = rebalance([0] * len(load), load, replicas, 0.05)
    allowed = max(first.imbalance - 1, 0.05)
    assert rebalance(first.route, load, replicas, allowed).moved == ()


@given(load=st.lists(st.floats(0.01, 10), min_size=1, max_size=60), replicas=st.integers(1, 8))
def test_no_replica_has_more_than_list_scheduling_allows(load: list[float], replicas: int) -> None:
    result = rebalance([0] * len(load), load, replicas, 0.0)
    totals = np.bincount(result.route, load, minlength=replicas)
    assert totals.max() <= sum(load) / replicas + max(load) + 1e-9


def fewest_moves(old: list[int], load: list[float], replicas: int, allowed: float) -> int | None:
    """By trying every route; None where none keeps the bound."""
    ceiling = max((1 + allowed) * sum(load) / replicas, *load)
    moves = [
        sum(a != b for a, b in zip(old, route, strict=True))
        for route in itertools.product(range(replicas), repeat=len(load))
        if np.bincount(route, load, minlength=replicas).max() <= ceiling + 1e-9
    ]
    return min(moves) if moves else None


def test_moves_are_near_the_fewest_and_the_bound_is_mostly_met_where_it_can_be() -> None:
    rng = np.random.default_rng(4)
    over, missed, possible = [], 0, 0
    for _ in range(60):
        replicas, before = int(rng.integers(2, 4)), int(rng.integers(1, 5))
        load = [float(x) for x in rng.uniform(0.2, 2, 8)]
        old = [int(x) for x in rng.integers(0, before, 8)]
        fewest = fewest_moves(old, load, replicas, 0.2)
        if fewest is None:
            continue
        possible += 1
        result = rebalance(old, load, replicas, 0.2)
        ceiling = max(1.2 * sum(load) / replicas, *load)
        if np.bincount(result.route, load, minlength=replicas).max() > ceiling + 1e-9:
            missed += 1
        else:
            over.append(len(result.moved) - fewest)
    assert possible > 40
    assert missed <= 0.1 * possible
    assert np.mean(over) <= 0.6


def test_nothing_measured_means_all_alike() -> None:
    assert rebalance([0] * 8, [0.0] * 8, 4).imbalance == pytest.approx(1.0)
    assert imbalance([0, 1], [0.0, 0.0], 2) == 1.0
