"""Executors, workers and drivers killed while slots move between hosts; nothing lost, repeated or reordered."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from penstock.testing import Cluster
from tests.faults.conftest import Attack
from tests.faults.runs import thorough
from tests.faults.test_executor_faults import CONF, kill_some
from tests.spark.cluster.cluster import needs_cluster

pytestmark = [needs_cluster, thorough]

POINTS = ("copying", "marked", "rebuilt", "copied")


@pytest.mark.parametrize("action", ["die", "kill_executor"])
def test_copies_that_die_at_every_point(attack: Attack, cluster: Cluster, action: str) -> None:
    run = attack(master=cluster.url, sink="memory", conf=CONF, total=120_000, replicas=3, changing=True)
    for place, point in enumerate(POINTS):
        run.orders.give(f"window.{point}", action, after=place)
    run.start()
    said = run.finish()
    assert run.orders.carried_out() >= len(POINTS) - 1, "the last one comes late"
    run.check(said)


@pytest.mark.parametrize("migration", ["at once", "splitter holds", "replicas wait"])
def test_hosts_lost_while_tuples_wait(attack: Attack, cluster: Cluster, migration: str) -> None:
    run = attack(
        master=cluster.url, sink="parquet", conf=CONF, total=120_000, replicas=3, changing=True, migration=migration
    )
    run.orders.give("window.copying", "sleep 1.5", times=20)
    run.start()
    kill_some(run, cluster, 4)
    said = run.finish()
    assert run.kills >= 2
    assert said["waited"] or migration == "replicas wait"
    run.check(said)


@pytest.mark.parametrize("point", ["copying", "copied", "switching", "planned", "published"])
def test_drivers_that_die_in_the_middle_of_a_migration(attack: Attack, cluster: Cluster, point: str) -> None:
    run = attack(master=cluster.url, conf=CONF, total=60_000, replicas=3, changing=True)
    for count in (1, 2):
        run.start(replace(run.wish, die=(point, count)))
        assert run.death() == -9
        time.sleep(0.5)
    run.start()
    run.check(run.finish())


@pytest.mark.parametrize("migration", ["at once", "splitter holds"])
def test_drivers_killed_while_tuples_wait(attack: Attack, cluster: Cluster, migration: str) -> None:
    run = attack(
        master=cluster.url, conf=CONF, total=60_000, replicas=3, changing=True, migration=migration, sink="parquet"
    )
    run.orders.give("window.copying", "sleep 1", times=40)
    for _ in range(3):
        run.start()
        run.wait_for_batches(run.random.randint(3, 7))
        run.kill_driver(whole_group=run.random.random() < 0.5)
    run.start()
    run.check(run.finish())
    assert run.kills >= 2
