"""Replicas on hosts: which move when executors come and go, and when routes change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import hypothesis.strategies as st
from hypothesis import given

from penstock.plan.configuration import even_route
from penstock.plan.placement.host_balance import HOST_IMBALANCE
from penstock.plan.placement.moves import moves_between
from penstock.plan.placement.placement import Packing, Placement, place

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


def host_loads(placement: Placement, loads: Sequence[float], cores: Mapping[str, int]) -> dict[str, float]:
    found = dict.fromkeys(cores, 0.0)
    for replica, host in enumerate(placement.hosts):
        found[host] += loads[replica]
    return {host: load / cores[host] for host, load in found.items()}


def is_even(hosts: Sequence[str], cores: Mapping[str, int]) -> bool:
    number = Counter(hosts)
    fullest = max(number[h] / cores[h] for h in cores)
    return all((number[h] + 1) / cores[h] >= fullest for h in cores)


def test_heavy_replicas_go_to_different_hosts() -> None:
    new = place(4, even_route(4, SLOTS), HOSTS, None, [5.0, 5.0, 1.0, 1.0])
    assert host_loads(new, [5.0, 5.0, 1.0, 1.0], HOSTS) == {"a": 3.0, "b": 3.0}


def test_replicas_change_places_where_hosts_differ_and_the_one_with_least_to_copy_does() -> None:
    # Replicas 0 and 1 have their slots on a, 2 and 3 theirs on b; 1 and 2 have fewer.
    before = Placement(("a", "b"), ("a", "b"), (0,) * 10 + (1,) * 6)
    route = (0,) * 8 + (1,) * 2 + (2,) + (3,) * 5
    loads = [4.0, 4.0, 1.0, 1.0]
    after = place(4, route, HOSTS, before, loads)
    assert max(host_loads(after, loads, HOSTS).values()) == 2.5
    assert after.hosts == ("a", "b", "a", "b")
    assert len(moves_between(before, after, SLOTS)) == 3


def test_hosts_that_differ_little_leave_slots_where_they_are() -> None:
    before = Placement(("a", "b"), ("a", "b"), (0,) * 8 + (1,) * 8)
    route = (0,) * 4 + (1,) * 4 + (2,) * 4 + (3,) * 4
    after = place(4, route, HOSTS, before, [1.05, 1.05, 1.0, 1.0])
    assert not moves_between(before, after, SLOTS)


def test_elements_share_hosts_by_their_load() -> None:
    packing = Packing(HOSTS)
    one = packing.place("one", 3, even_route(3, SLOTS), None)
    other = packing.place("other", 3, even_route(3, SLOTS), None)
    assert Counter(one.hosts + other.hosts) == {"a": 3, "b": 3}


def test_one_replica_beside_a_heavy_element_goes_elsewhere() -> None:
    loads = {"keyed": [9.0] * 4 + [1.0] * 12, "single": [5.0]}
    packing = Packing(HOSTS, loads)
    keyed = packing.place("keyed", 2, (0,) * 4 + (1,) * 12, None)
    assert packing.place("single", 1, (), None).hosts[0] == keyed.hosts[1]


def test_an_idle_element_weighs_nothing_beside_others() -> None:
    loads = {"idle": [0.0] * SLOTS, "busy": [0.11] * 4 + [0.02625] * 8 + [0.0] * 4}
    packing = Packing({"a": 4, "b": 4}, loads)
    idle = packing.place("idle", 3, even_route(3, SLOTS), None)
    assert is_even(idle.hosts, HOSTS)
    busy = packing.place("busy", 3, (0,) * 4 + (1,) * 4 + (2,) * 8, None)
    assert host_loads(busy, [0.44, 0.105, 0.105], {"a": 1, "b": 1}) == {"a": 0.44, "b": 0.21}


def test_of_replicas_that_have_to_go_those_with_few_slots_do() -> None:
    before = Placement(("a",) * 3, ("a",) * 3, (0,) * 2 + (1,) + (2,) * 13)
    assert place(3, before.route, HOSTS, before).hosts == ("a", "b", "a")


@given(st.data(), HOST_SETS, st.integers(1, 8), st.integers(1, 8))
def test_by_load_no_single_change_is_better_and_numbers_stay_even(
    data: st.DataObject, cores: dict[str, int], old: int, replicas: int
) -> None:
    loads = data.draw(st.lists(st.floats(0.01, 10), min_size=replicas, max_size=replicas))
    before = data.draw(st.sampled_from([None, placed(old, cores)]))
    route = tuple(data.draw(st.lists(st.integers(0, replicas - 1), min_size=SLOTS, max_size=SLOTS)))
    now = place(replicas, route, cores, before, loads)
    assert is_even(now.hosts, cores)
    assert place(replicas, route, cores, now, loads[::-1]) == now
    load = host_loads(now, loads, cores)
    fullest = max(load.values())
    if before is not None and before.route == route:
        return
    if fullest <= (1 + HOST_IMBALANCE) * sum(loads) / sum(cores.values()):
        return
    top = [h for h in cores if load[h] == fullest]
    for first, host in enumerate(now.hosts):
        for target in cores:
            tries = [{first: target}] + [{first: target, r: host} for r, h in enumerate(now.hosts) if h == target]
            for change in tries:
                hosts = [change.get(r, h) for r, h in enumerate(now.hosts)]
                changed = host_loads(Placement(tuple(hosts), tuple(hosts), route), loads, cores)
                better = max(changed.values()) < fullest * (1 - 1e-6)
                assert len(top) > 1 or not (better and is_even(hosts, cores)), (change, load, changed)
