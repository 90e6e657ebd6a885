"""Replicas on hosts: which move when executors come and go, and when routes change."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
from hypothesis import given

from penstock.control.configuration import even_route
from penstock.plan.placement import Placement, place

SLOTS = 16
HOSTS = {"a": 2, "b": 2}


def placed(replicas: int, cores: dict[str, int], before: Placement | None = None) -> Placement:
    return place(replicas, even_route(replicas, SLOTS), cores, before)


def test_replicas_are_spread_evenly_and_stay() -> None:
    first = placed(4, HOSTS)
    assert Counter(first.hosts) == {"a": 2, "b": 2}
    assert placed(4, HOSTS, first) == first


def test_only_the_replicas_of_a_lost_host_move_and_they_come_back_with_it() -> None:
    first = placed(4, HOSTS)
    alone = placed(4, {"a": 2}, first)
    assert alone.hosts == ("a",) * 4
    assert alone.homes == first.homes
    assert placed(4, HOSTS, alone) == first


def test_a_host_that_comes_new_gets_its_share_and_nobody_else_moves() -> None:
    first = placed(4, {"a": 2})
    both = placed(4, HOSTS, first)
    assert Counter(both.hosts) == {"a": 2, "b": 2}
    assert placed(4, HOSTS | {"c": 2}, both).hosts.count("c") == 1


def test_a_host_in_place_of_a_lost_one_gets_the_replicas_that_have_no_home() -> None:
    first = placed(4, HOSTS)
    replaced = placed(4, {"a": 2, "c": 2}, placed(4, {"a": 2}, first))
    assert [(was, now) for was, now in zip(first.hosts, replaced.hosts, strict=True) if was != now] == [("b", "c")] * 2


def test_larger_hosts_have_more_replicas() -> None:
    assert Counter(placed(8, {"a": 2, "b": 6}).hosts) == {"a": 2, "b": 6}


def test_more_replicas_are_placed_where_their_slots_are() -> None:
    two = placed(2, HOSTS)
    four = placed(4, HOSTS, two)
    assert four.hosts == (two.hosts[0], two.hosts[0], two.hosts[1], two.hosts[1])
    assert placed(2, HOSTS, four).hosts == two.hosts


def test_a_route_that_only_renames_replicas_moves_no_slot() -> None:
    two = placed(2, HOSTS)
    renamed = place(2, tuple(1 - r for r in two.route), HOSTS, two)
    assert renamed.hosts == tuple(reversed(two.hosts))


def test_a_few_slots_that_change_replica_leave_the_replicas_where_they_are() -> None:
    two = placed(2, HOSTS)
    route = (1, 1, *two.route[2:])
    assert place(2, route, HOSTS, two).hosts == two.hosts


HOST_SETS = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 4), min_size=1)
COMINGS = st.lists(st.tuples(st.integers(1, 9), HOST_SETS), min_size=1, max_size=8)


@given(COMINGS)
def test_whatever_comes_and_goes_replicas_are_on_living_hosts_evenly_and_settle_at_once(
    steps: list[tuple[int, dict[str, int]]],
) -> None:
    before: Placement | None = None
    for replicas, cores in steps:
        now = placed(replicas, cores, before)
        load = Counter(now.hosts)
        assert set(load) <= set(cores)
        assert len(now.hosts) == replicas
        fullest = max(load[h] / cores[h] for h in cores)
        assert all((load[h] + 1) / cores[h] >= fullest for h in cores)
        assert placed(replicas, cores, now) == now
        before = now


@given(st.integers(1, 9), st.sets(st.sampled_from("abcde"), min_size=2), st.data())
def test_losing_a_host_moves_its_own_replicas_only(replicas: int, names: set[str], data: st.DataObject) -> None:
    cores = dict.fromkeys(names, 2)
    before = placed(replicas, cores)
    lost = data.draw(st.sampled_from(sorted(names)))
    without = placed(replicas, {h: c for h, c in cores.items() if h != lost}, before)
    moved = {was for was, now in zip(before.hosts, without.hosts, strict=True) if was != now}
    assert moved <= {lost}
    assert placed(replicas, cores, without).hosts == before.hosts
