"""Executors of a standalone cluster that die, tasks that run twice at once, outputs that go with their executor."""

from __future__ import annotations

import random
import time

import pytest

from penstock.testing import Cluster
from tests.faults.conftest import Attack
from tests.faults.processes import executors, kill, python_workers
from tests.faults.runs import Run, thorough
from tests.spark.cluster.cluster import needs_cluster

pytestmark = [needs_cluster, thorough]

CONF = {"spark.executor.memory": "512m", "spark.task.maxFailures": "100", "spark.stage.maxConsecutiveAttempts": "100"}


def kill_some(run: Run, cluster: Cluster, times: int) -> None:
    """Kills executors and Python workers of random hosts while the driver runs."""
    run.wait_for_batches(2)
    while run.kills < times and run.is_running():
        worker = run.random.choice(cluster.workers)
        found = executors(worker.pid) if run.random.random() < 0.6 else python_workers(worker.pid)
        if found and kill(run.random.choice(found)):
            run.kills += 1
        time.sleep(run.random.uniform(0.5, 3.0))


@pytest.mark.parametrize(
    ("sink", "changing", "seed"),
    [("memory", False, 1), ("memory", True, 2), ("parquet", True, 3), ("discard", False, 4)],
)
def test_executors_and_workers_killed_at_random_moments(
    attack: Attack, cluster: Cluster, sink: str, changing: bool, seed: int
) -> None:
    run = attack(
        faulty=False, master=cluster.url, sink=sink, changing=changing, seed=seed, conf=CONF, total=120_000, replicas=4
    )
    run.start()
    kill_some(run, cluster, 8)
    said = run.finish()
    run.check(said)
    assert run.kills >= 5


@pytest.mark.parametrize("application", ["prices", "two_windows"])
def test_executors_that_die_at_every_point_of_a_task(attack: Attack, cluster: Cluster, application: str) -> None:
    """At two_windows' second window the executor takes the first one's map output along, whose state is newer."""
    replicas = {"means": 2, "spreads": 4} if application == "two_windows" else {"window": 4}
    run = attack(
        application=application, master=cluster.url, sink="memory", conf=CONF, total=60_000,
        replicas_by_element=replicas, micro_batch_tuples=4_000,
    )  # fmt: skip
    operator, points = list(replicas)[-1], ("opened", "changed", "committing", "committed")
    rng = random.Random(3)
    for point in points:
        run.orders.give(f"{operator}.{point}", "kill_executor", after=rng.randint(4, 20))
    run.start()
    said = run.finish()
    assert run.orders.carried_out() == len(points)
    assert said["rebuilt"] > 0
    run.check(said)


@pytest.mark.parametrize("point", ["opened", "changed", "committing", "committed"])
def test_two_attempts_of_a_stateful_task_at_once(attack: Attack, cluster: Cluster, point: str) -> None:
    """A task that is slow gets a second attempt on the other host, which has to rebuild its slots and is first."""
    speculative = {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.minTaskRuntime": "200ms",
    }
    run = attack(master=cluster.url, sink="memory", conf=CONF | speculative, replicas=4, total=40_000)
    run.orders.give(f"window.{point}", "sleep 12", times=3, after=20)
    run.start()
    said = run.finish()
    assert run.orders.carried_out() == 3
    assert said["rebuilt"] > 0
    run.check(said)


def test_drivers_killed_while_their_executors_live_on(attack: Attack, cluster: Cluster) -> None:
    run = attack(faulty=False, master=cluster.url, conf=CONF, total=60_000, replicas=4)
    for _ in range(4):
        run.start()
        run.wait_for_batches(run.random.randint(2, 5))
        time.sleep(run.random.random() * 0.3)
        run.kill_driver(whole_group=run.random.random() < 0.5)
    run.start()
    run.check(run.finish())
    assert run.kills == 4
