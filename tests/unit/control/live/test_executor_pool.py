"""Executors follow the replicas, on a cluster and a clock that tests turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from penstock.control.live.executor_plan import Executor, ExecutorBounds
from penstock.control.live.executor_pool import ExecutorPool
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route
from penstock.plan.placement.placement import Placement


def configured(replicas: int) -> Configuration:
    return Configuration((ElementConfiguration("window", replicas, even_route(replicas, 8)),))


class FakeCluster:
    """Starts what it was asked for when `deliver` is called; replicas are spread over the hosts that stay."""

    def __init__(self, executors: int) -> None:
        self.there = [Executor(str(i), f"host{i}", 2) for i in range(executors)]
        self.asked: list[int] = []
        self.given_back: list[str] = []
        self.staying: Mapping[str, int] | None = None
        self.newest: Mapping[str, Placement] = {}

    def executors(self) -> tuple[Executor, ...]:
        return tuple(self.there)

    def ask(self, total: int) -> None:
        self.asked.append(total)

    def deliver(self) -> None:
        while len(self.there) < self.asked[-1]:
            name = str(len(self.there) + len(self.given_back))
            self.there.append(Executor(name, f"host{name}", 2))

    def give_back(self, executors: Sequence[Executor], total: int) -> None:
        self.given_back += [e.name for e in executors]
        self.there = [e for e in self.there if e not in executors]
        self.ask(total)

    def place(self, replicas: int) -> None:
        hosts = [e.host for e in self.there if self.staying is None or e.host in self.staying]
        placed = tuple(hosts[i % len(hosts)] for i in range(replicas))
        self.newest = {"window": Placement(placed, placed)}


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def pool_of(cluster: FakeCluster, highest: int) -> tuple[ExecutorPool, Clock]:
    clock = Clock()
    return ExecutorPool(cluster, cluster, ExecutorBounds(1, highest, 2), clock=clock, patience_s=20.0), clock


def test_executors_are_asked_for_once_and_their_start_is_learned() -> None:
    cluster = FakeCluster(1)
    pool, clock = pool_of(cluster, 4)
    assert pool.prepare(configured(2)) == configured(2)
    pool.look(configured(2))
    for _ in range(3):
        clock.now_s += 1.0
        assert pool.prepare(configured(5)) is None
        pool.look(configured(2))
    assert cluster.asked == [3]
    assert pool.executor_start_s == pytest.approx(pool.start.cautious_s)
    cluster.deliver()
    clock.now_s += 1.0
    pool.look(configured(2))
    assert pool.start.seen == 2
    assert pool.start.mean_s == pytest.approx(3.0)
    assert pool.prepare(configured(5)) == configured(5)
    assert pool.executor_start_s is None


def test_what_the_limits_or_the_master_refuse_is_done_without() -> None:
    cluster = FakeCluster(1)
    pool, clock = pool_of(cluster, 2)
    assert pool.prepare(configured(5)) is None
    assert cluster.asked == [2]
    clock.now_s += 21.0
    narrow = pool.prepare(configured(5))
    assert narrow is not None
    assert narrow.element("window").replicas == 2
    assert cluster.asked == [2, 1]
    assert pool.prepare(configured(5)) is not None
    clock.now_s += 601.0
    assert pool.prepare(configured(5)) is None
    cluster.deliver()
    clock.now_s += 1.0
    pool.look(configured(2))
    full = pool.prepare(configured(5))
    assert full is not None
    assert full.element("window").replicas == 4


def test_idle_executors_go_after_their_replicas_have_left() -> None:
    cluster = FakeCluster(3)
    pool, clock = pool_of(cluster, 3)
    cluster.place(6)
    for _ in range(40):
        clock.now_s += 1.0
        cluster.place(2 if clock.now_s > 120 else 6)
        pool.look(configured(2 if clock.now_s > 120 else 6))
        if cluster.staying is not None and not cluster.given_back:
            assert sorted(cluster.staying.values()) == [2]
            assert clock.now_s >= 130
    assert len(cluster.given_back) == 2
    assert cluster.asked == [1]
    assert cluster.staying is None
    assert len(cluster.there) == 1


def test_executors_stay_while_replicas_are_still_on_their_hosts_and_are_kept_when_needed_after_all() -> None:
    cluster = FakeCluster(2)
    pool, clock = pool_of(cluster, 2)
    cluster.place(4)
    for _ in range(40):
        clock.now_s += 1.0
        pool.look(configured(2))
    assert cluster.given_back == []
    assert cluster.staying is not None
    assert pool.prepare(configured(4)) == configured(4)
    assert cluster.staying is None
