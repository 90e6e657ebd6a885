"""The migration bench without Spark: routes, the load's steps, and what is read from results."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.spark.migrate.migrate_change import Timed, change_of
from benchmarks.spark.migrate.migrate_scene import FEW, MigrateEffort, next_step_up_s, rate_file, stepped_route
from penstock.plan.configuration import even_route
from penstock.plan.placement.moves import moves_between
from penstock.plan.placement.placement import Placement, place

HOSTS = {"a": 4, "b": 4}


def test_four_fifths_of_the_slots_change_replica_and_nearly_half_change_host() -> None:
    few = place(FEW, even_route(FEW), HOSTS, None)
    route = stepped_route(few.route, few.hosts)
    many = place(4, route, HOSTS, few)
    assert np.bincount(route).tolist() == [128, 128, 116, 140] or max(np.bincount(route)) <= 141
    assert 0.78 < np.mean(np.array(few.route) != np.array(route)) < 0.82
    assert 0.44 < len(moves_between(few, many, len(route))) / len(route) < 0.5
    staying = [slot for slot in range(512) if route[slot] == few.route[slot]]
    assert not set(staying) & set(moves_between(few, many, len(route))), "who keeps its replica keeps its host"


def test_the_lone_replica_may_be_any() -> None:
    for hosts in (("a", "b", "b"), ("b", "a", "b"), ("b", "b", "a")):
        route = stepped_route(even_route(FEW), hosts)
        assert set(route) == {0, 1, 2, 3}
        many = place(4, route, HOSTS, Placement(hosts, hosts, even_route(FEW)))
        assert sorted(many.hosts) == ["a", "a", "b", "b"]


def test_the_rate_steps_up_and_down_again(tmp_path: Path) -> None:
    effort = MigrateEffort(keys=10, window_tuples=5, low_tuples_s=30.0, half_s=4.0)
    rows = rate_file(effort, tmp_path).read_text().splitlines()
    assert rows[:5] == ["seconds,rate", "0,50", "1,30", "5,40", "9,30"]
    assert [next_step_up_s(effort, at_s) for at_s in (0.0, 5.0, 5.1, 13.0)] == [5.0, 5.0, 13.0, 13.0]


def test_the_gap_is_that_of_the_keys_that_waited_longest() -> None:
    some = np.array([100.0])
    moments = [(0.0, True), (0.5, True), (1.0, False), (1.5, False), (2.0, True)]
    timed = [Timed(at_s, some, some, has_away) for at_s, has_away in moments]
    change = change_of("some way", timed, 0.5, 0.5)
    assert (change.moved.gap_ms, change.unmoved.gap_ms, change.away_gap_ms) == (500.0, 500.0, 1500.0)
    assert change.gap_ms == 1500.0


def test_gaps_and_latency_are_of_each_kind_of_keys() -> None:
    steady = [Timed(i / 2, np.array([100.0]), np.array([50.0])) for i in range(4)]
    waiting = [Timed(2.0 + i / 2, np.empty(0), np.array([60.0])) for i in range(4)]
    change = change_of(
        "some way", [*steady, *waiting, Timed(4.0, np.array([2500.0, 90.0]), np.array([70.0]))], 1.5, 3.0
    )
    assert change.moved.gap_ms == 2500.0
    assert change.unmoved.gap_ms == 500.0
    assert (change.moved.worst_ms, change.moved.steady_p99_ms) == (2500.0, 100.0)
    assert (change.unmoved.worst_ms, change.switched_after_s) == (70.0, 1.5)
