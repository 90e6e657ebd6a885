"""What the cores of hosts do, from what replicas took on them, and where replicas go by it."""

from __future__ import annotations

import math
import random
from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import given

from penstock.plan.configuration import even_route
from penstock.plan.placement.host_balance import HOST_IMBALANCE
from penstock.plan.placement.host_pace import STEP, HostPaces, ReplicaWork, capacities, free_shares, speeds
from penstock.plan.placement.placement import Packing, Placement

SLOTS = 16
HOSTS = st.dictionaries(st.sampled_from("abcde"), st.floats(0.5, 2.0), min_size=2)
COSTS = st.dictionaries(st.sampled_from("xyz"), st.floats(1e-6, 1e-2), min_size=1)


def work(speed: dict[str, float], cost: dict[str, float], seconds: float = 10.0) -> list[ReplicaWork]:
    """Each element on each host, for as long."""
    return [
        ReplicaWork(element, host, seconds * own / each, seconds)
        for element, each in cost.items()
        for host, own in speed.items()
    ]


@given(HOSTS, COSTS, st.randoms(use_true_random=False))
def test_speeds_are_found_whatever_elements_cost_and_wherever_they_are(
    speed: dict[str, float], cost: dict[str, float], chance: random.Random
) -> None:
    """One element is on all hosts, so that all can be compared."""
    first = min(cost)
    seen = [own for own in work(speed, cost) if own.element == first or chance.random() < 0.5]
    found = speeds(seen)
    mean = math.exp(sum(map(math.log, speed.values())) / len(speed))
    for host, own in speed.items():
        assert found[host] == pytest.approx(own / mean, rel=1e-3)


def test_hosts_that_share_no_element_are_not_compared() -> None:
    seen = [ReplicaWork("x", "a", 1000, 5.0), ReplicaWork("y", "b", 10, 5.0)]
    assert speeds(seen) == pytest.approx({"a": 1.0, "b": 1.0})
    assert speeds([]) == {}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 9), st.floats(0, 9)), max_size=6))
def test_what_others_take_is_the_time_in_line_for_a_core(given_s: list[tuple[str, float, float]]) -> None:
    found = free_shares([ReplicaWork("x", host, 1, cpu_s, stalled_s) for host, cpu_s, stalled_s in given_s])
    for host, share in found.items():
        cpu_s = sum(own[1] for own in given_s if own[0] == host)
        stalled_s = sum(own[2] for own in given_s if own[0] == host)
        assert share == pytest.approx(max(cpu_s / (cpu_s + stalled_s), 0.2))


@given(HOSTS, COSTS, st.integers(0, 2**16))
def test_paces_come_into_force_in_steps_and_then_stay(
    speed: dict[str, float], cost: dict[str, float], seed: int
) -> None:
    """Noise of a tenth moves nothing once they are in force; and nothing is said of hosts that did next to nothing."""
    chance, paces = random.Random(seed), HostPaces()
    paces.learn(work(speed, cost, 1e-3))
    assert paces.in_force == {}
    for _ in range(40):
        paces.learn(work(speed, cost))
    mean = sum(speed.values()) / len(speed)
    exact = {host: own / mean for host, own in speed.items()}
    settled = paces.in_force
    for host, own in exact.items():
        assert 1 / (STEP * 1.001) <= settled.get(host, 1.0) / own <= STEP * 1.001
    if max(abs(math.log(settled.get(host, 1.0) / own)) for host, own in exact.items()) < math.log(STEP) - 0.15:
        for _ in range(40):
            paces.learn([
                ReplicaWork(own.element, own.host, own.tuples * chance.uniform(0.95, 1.05), own.cpu_s)
                for own in work(speed, cost)
            ])  # fmt: skip
        assert paces.in_force is settled


def test_a_host_with_other_programs_gets_its_pace_back_when_they_end() -> None:
    paces = HostPaces()
    for _ in range(20):
        paces.learn([ReplicaWork("x", "a", 100, 5.0, 5.0), ReplicaWork("x", "b", 100, 5.0)])
    assert paces.in_force == pytest.approx({"a": 2 / 3, "b": 4 / 3})
    for _ in range(40):
        paces.learn([ReplicaWork("x", "a", 100, 5.0), ReplicaWork("x", "b", 100, 5.0)])
    assert all(1 / STEP <= pace <= STEP for pace in paces.in_force.values())


def test_a_host_of_half_the_speed_gets_half_the_replicas() -> None:
    packing = Packing({"a": 2, "b": 2}, paces={"a": 2 / 3, "b": 4 / 3})
    assert Counter(packing.place("x", 6, even_route(6, SLOTS), None).hosts) == {"a": 2, "b": 4}


def test_seconds_on_a_slow_host_are_less_work() -> None:
    """Eight slots took a second each at pace 0.5, the others half of it at pace 1: all are the same work."""
    before = Placement(("a", "b"), ("a", "b"), (0,) * 8 + (1,) * 8)
    loads = {"x": [1.0] * 8 + [0.5] * 8}
    packing = Packing({"a": 1, "b": 1}, loads, paces={"a": 0.5, "b": 1.0})
    placed = packing.place("x", 3, even_route(3, SLOTS), before)
    assert Counter(placed.hosts) == {"a": 1, "b": 2}


@given(st.data(), HOSTS, st.integers(1, 8))
def test_by_pace_no_single_change_is_better_while_a_host_is_too_full(
    data: st.DataObject, pace: dict[str, float], replicas: int
) -> None:
    cores = {host: data.draw(st.integers(1, 4)) for host in pace}
    loads = data.draw(st.lists(st.floats(0.01, 10), min_size=SLOTS, max_size=SLOTS))
    route = tuple(data.draw(st.lists(st.integers(0, replicas - 1), min_size=SLOTS, max_size=SLOTS)))
    placed = Packing(cores, {"x": loads}, paces=pace).place("x", replicas, route, None)
    worth = capacities(cores, pace)
    own = [sum(load for slot, load in enumerate(loads) if route[slot] == r) for r in range(replicas)]

    def height(hosts: list[str]) -> float:
        return max(sum(own[r] for r, h in enumerate(hosts) if h == host) / worth[host] for host in worth)

    now, mean = height(list(placed.hosts)), sum(own) / sum(worth.values())
    if now > (1 + HOST_IMBALANCE) * mean:
        for one in range(replicas):
            for other in range(one):
                swapped = list(placed.hosts)
                swapped[one], swapped[other] = swapped[other], swapped[one]
                full = [h for h in worth if abs(height_of(placed, own, worth, h) - now) < 1e-12]
                if len(full) == 1 and full[0] in (placed.hosts[one], placed.hosts[other]):
                    assert height(swapped) >= now * (1 - 1e-6)


def height_of(placed: Placement, own: list[float], worth: dict[str, float], host: str) -> float:
    return sum(own[r] for r, h in enumerate(placed.hosts) if h == host) / worth[host]


@given(st.integers(1, 8), st.dictionaries(st.sampled_from("abcde"), st.integers(1, 4), min_size=1))
def test_without_paces_hosts_count_by_their_cores(replicas: int, cores: dict[str, int]) -> None:
    route = even_route(replicas, SLOTS)
    one, other = Packing(cores), Packing(cores, paces=dict.fromkeys(cores, 1.0))
    assert one.place("x", replicas, route, None) == other.place("x", replicas, route, None)
