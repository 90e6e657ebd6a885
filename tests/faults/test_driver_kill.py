"""Killing the driver (SIGKILL) at any moment loses, repeats and reorders nothing."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.faults.conftest import Attack
from tests.faults.runs import Run, thorough

POINTS = ("planned", "staged", "computed", "published", "renamed", "delivered")


def kill_at_random(run: Run, times: int) -> None:
    """Drivers that die some batches after their start, with all their processes or alone."""
    for _ in range(times):
        run.start()
        run.wait_for_batches(run.random.randint(1, 5))
        time.sleep(run.random.random() * 0.3)
        run.kill_driver(whole_group=run.random.random() < 0.5)


@pytest.mark.long
def test_a_driver_killed_after_its_manifest_and_one_at_a_random_moment(attack: Attack) -> None:
    """The first one leaves state that is at the new batch already, files unpublished, and a batch to run again."""
    run = attack(faulty=False, total=30_000)
    run.start(replace(run.wish, die=("published", 3)))
    assert run.death() == -9
    kill_at_random(run, 1)
    run.start(replace(run.wish, replicas=3))
    run.check(run.finish())


@thorough
@pytest.mark.parametrize("sink", ["parquet", "memory"])
@pytest.mark.parametrize("point", POINTS)
def test_drivers_that_die_at_each_point_of_a_batch(attack: Attack, point: str, sink: str) -> None:
    run = attack(faulty=False, total=40_000, sink=sink)
    point = "delivered" if (point, sink) == ("renamed", "memory") else point
    for count in (0, run.random.randint(1, 5)):
        run.start(replace(run.wish, die=(point, count)))
        assert run.death() == -9
    run.start(replace(run.wish, replicas=4))
    run.check(run.finish())


@thorough
@pytest.mark.parametrize(
    ("sink", "changing", "seed"), [("parquet", False, 1), ("parquet", True, 2), ("memory", True, 3)]
)
def test_drivers_killed_at_random_moments(attack: Attack, sink: str, changing: bool, seed: int) -> None:
    run = attack(faulty=False, total=90_000, sink=sink, changing=changing, seed=seed)
    kill_at_random(run, 6)
    run.start()
    run.check(run.finish())
    assert run.kills >= 5


@thorough
@pytest.mark.parametrize("point", ["opened", "changed", "committing", "committed"])
def test_a_driver_that_dies_while_a_task_is_half_way_and_lives_on(attack: Attack, point: str) -> None:
    """The driver alone is killed; its JVM and workers may go on for a while beside those of the next driver."""
    run = attack(total=30_000)
    for _ in range(2):
        run.orders.give(f"window.{point}", "sleep 5", after=run.random.randint(3, 8))
        run.start()
        run.wait_for_order()
        run.kill_driver(whole_group=False)
    run.start()
    run.check(run.finish())
    assert run.kills == 2


@thorough
def test_spark_s_jvm_is_killed_and_the_user_is_told_in_one_sentence(attack: Attack) -> None:
    run = attack(faulty=False, total=40_000)
    run.start()
    run.wait_for_batches(4)
    assert run.kill_below("org.apache.spark.deploy.SparkSubmit")
    code, error = run.failure()
    assert (code, error.strip().splitlines()) == (
        2,
        ["Spark's JVM died, perhaps since the machine was out of memory; run again with the same checkpoint"],
    )
    run.start()
    run.check(run.finish())
