"""Tasks that fail, die or lose what they wrote run again, and nothing of it shows in the output."""

from __future__ import annotations

import time

import pytest

from tests.faults.conftest import Attack
from tests.faults.runs import Run, thorough

POINTS = ("opening", "opened", "changed", "committing", "committed")


def kill_workers(run: Run, times: int) -> None:
    """Kills Python workers, a random one at a time, while the driver runs."""
    run.wait_for_batches(1)
    while run.kills < times and run.is_running():
        run.kill_a_worker()
        time.sleep(run.random.uniform(0.05, 0.8))


def test_tasks_that_fail_or_die_at_every_point(attack: Attack) -> None:
    run = attack(sink="memory", total=30_000)
    for point in POINTS:
        for action in ("raise", "die"):
            run.orders.give(f"window.{point}", action, after=run.random.randint(1, 8))
    run.start()
    said = run.finish()
    assert run.orders.carried_out() == 2 * len(POINTS)
    assert said["rebuilt"] > 0
    run.check(said)


@thorough
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("sink", "changing"), [("memory", False), ("memory", True), ("parquet", True), ("discard", False)]
)
def test_workers_killed_at_random_moments(attack: Attack, sink: str, changing: bool, seed: int) -> None:
    run = attack(faulty=False, sink=sink, changing=changing, total=200_000, seed=seed)
    run.start()
    kill_workers(run, 12)
    said = run.finish()
    run.check(said)
    assert run.kills >= 8


@thorough
def test_a_lost_map_output_has_a_stateful_task_run_again_whose_state_is_at_the_new_batch(attack: Attack) -> None:
    """Four tasks on two slots: the first two have read the shuffle files, the others find them gone."""
    run = attack(
        application="two_windows",
        sink="memory",
        total=24_000,
        replicas_by_element={"means": 2, "spreads": 4},
        micro_batch_tuples=4_000,
    )
    run.orders.give("spreads.opened.0", "lose_shuffles", times=2, after=1)
    run.start()
    said = run.finish()
    assert run.orders.carried_out() == 2
    assert said["rebuilt"] > 0
    run.check(said)


@thorough
def test_the_source_s_process_dies_and_the_next_driver_goes_on(attack: Attack) -> None:
    """Spark ends a query whose source died; the user is told so in one sentence, and may start it again."""
    run = attack(faulty=False, total=60_000)
    run.start()
    run.wait_for_batches(4)
    assert run.kill_below("python_streaming_source_runner")
    code, error = run.failure()
    assert code == 2
    assert len(error.strip().splitlines()) == 1, error
    run.start()
    run.check(run.finish())
