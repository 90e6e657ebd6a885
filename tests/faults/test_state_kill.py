"""Keyed state survives the death of whoever writes it: nothing lost, nothing twice, to the bit."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.errors import StaleAttemptError
from penstock.state.memory.header import Field
from penstock.state.token import Token
from tests.faults.state_worker import (
    ALL_SLOTS,
    Block,
    Driver,
    PlainWindow,
    WorkerProcess,
    entries_in,
    order,
    rebuilt_in,
    stored_rows,
    stored_window,
)

SHAPE = (4, 1, False)
CHUNKED = (400, 1, False)  # its entries lie in chunks, of which tasks take some


class Cluster:
    """One host whose workers are processes, and this process's own window to look at what they leave."""

    def __init__(self, root: Path, shape: tuple[int, int, bool] = SHAPE) -> None:
        self.host, self.shape = root / "host", shape
        self.driver = Driver(root / "checkpoint")
        self.window = stored_window(root / "checkpoint", self.host, shape)
        self.plain = PlainWindow(shape)
        self.random = random.Random(7)
        self.workers: list[WorkerProcess] = []

    def blocks(self, count: int = 2) -> list[Block]:
        draw, keys = self.random, 40 if self.shape == SHAPE else 4
        return [
            Block(tuple(draw.randrange(keys) for _ in range(30)), tuple(draw.random() for _ in range(30)))
            for _ in range(count)
        ]

    def start(self, blocks: list[Block], pause: str = "") -> WorkerProcess:
        self.workers.append(WorkerProcess(order(self.driver, self.host, self.shape, blocks, pause=pause)))
        return self.workers[-1]

    def commit(self, blocks: list[Block]) -> int:
        """A whole batch by a fresh process; how many slots it had to rebuild."""
        worker = self.start(blocks)
        answer = worker.wait_for("committed")
        worker.wait()
        self.count(answer, blocks)
        return rebuilt_in(answer)

    def count(self, answer: str, blocks: list[Block]) -> None:
        self.driver.publish(entries_in(answer))
        for block in blocks:
            self.plain.process(block)

    def rows(self) -> dict[Any, bytes]:
        ledger = self.driver.ledger
        self.window.open(ALL_SLOTS, ledger.heads, ledger.history, self.driver.token())
        rows = stored_rows(self.window)
        self.window.close()
        return rows


@pytest.fixture
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, getattr(request, "param", SHAPE))
    yield cluster
    for worker in cluster.workers:
        worker.kill()


@pytest.mark.parametrize("cluster", [SHAPE, CHUNKED], indirect=True, ids=str)
@pytest.mark.parametrize("moment", ["opened", "changed", "logged", "committed"])
def test_a_worker_killed_at_any_moment_leaves_nothing_behind(cluster: Cluster, moment: str) -> None:
    cluster.commit(cluster.blocks())
    blocks = cluster.blocks()
    victim = cluster.start(blocks, pause=moment)
    victim.wait_for(moment)
    if moment == "committed":
        victim.wait_for(moment)  # after its answer, which is lost, like a map output on a dead executor
    victim.kill()
    rebuilt = cluster.commit(blocks)
    assert rebuilt > 0
    assert cluster.rows() == cluster.plain.rows()


def test_without_deaths_the_next_worker_of_the_host_rebuilds_nothing(cluster: Cluster) -> None:
    assert [cluster.commit(cluster.blocks()) for _ in range(3)] == [0, 0, 0]
    assert cluster.rows() == cluster.plain.rows()


def test_a_newer_attempt_ends_an_older_one_that_goes_on_writing(cluster: Cluster) -> None:
    cluster.commit(cluster.blocks())
    blocks = cluster.blocks()
    zombie = cluster.start(blocks, pause="endless")
    zombie.wait_for("endless")
    assert cluster.commit(blocks) > 0
    assert zombie.wait() == -9
    assert cluster.rows() == cluster.plain.rows()


def test_an_older_attempt_that_comes_late_is_refused(cluster: Cluster) -> None:
    blocks, ledger = cluster.blocks(), cluster.driver.ledger
    late = cluster.driver.token()
    holder = cluster.start(blocks, pause="changed")
    holder.wait_for("changed")
    with pytest.raises(
        StaleAttemptError, match="batch 0, epoch 1, attempt 0 came too late: attempt 1 of epoch 1 holds"
    ):
        cluster.window.open(ALL_SLOTS, ledger.heads, ledger.history, late)
    assert holder.process.poll() is None
    holder.kill()
    cluster.commit(blocks)
    with pytest.raises(StaleAttemptError, match="came too late: a newer attempt has committed slot 0"):
        cluster.window.open(ALL_SLOTS, ledger.heads, ledger.history, late)
    assert cluster.rows() == cluster.plain.rows()


def test_a_worker_that_outlives_its_driver_is_ended_by_the_next_drivers_task(cluster: Cluster) -> None:
    cluster.commit(cluster.blocks())
    for _ in range(5):
        cluster.driver.token()
    blocks = cluster.blocks()
    orphan = cluster.start(blocks, pause="endless")
    orphan.wait_for("endless")
    cluster.driver.restart()
    assert cluster.commit(blocks) > 0
    assert orphan.wait() == -9
    assert cluster.rows() == cluster.plain.rows()


def test_a_driver_that_died_with_the_state_at_the_new_batch_has_it_rebuilt_to_the_batch_before(
    cluster: Cluster,
) -> None:
    cluster.commit(cluster.blocks())
    blocks = cluster.blocks()
    done = cluster.start(blocks)
    done.wait_for("committed")
    done.wait()
    cluster.driver.restart()
    assert cluster.commit(blocks) > 0
    assert cluster.rows() == cluster.plain.rows()


def test_two_attempts_of_one_slot_are_told_apart_by_the_attempt_alone(cluster: Cluster) -> None:
    """On this host attempt 0 of a batch committed; what counts is attempt 1 of the same batch, made elsewhere."""
    blocks, other = cluster.blocks(), cluster.blocks()
    cluster.start(other).wait_for("committed")
    elsewhere = WorkerProcess(order(cluster.driver, cluster.host.with_name("elsewhere"), SHAPE, blocks))
    cluster.workers.append(elsewhere)
    cluster.count(elsewhere.wait_for("committed"), blocks)
    assert cluster.rows() == cluster.plain.rows()


def test_a_wiped_host_directory_is_rebuilt(cluster: Cluster) -> None:
    cluster.commit(cluster.blocks())
    shutil.rmtree(cluster.host)
    assert cluster.commit(cluster.blocks()) > 0
    assert cluster.rows() == cluster.plain.rows()


def test_a_process_id_that_was_given_anew_is_not_killed(cluster: Cluster) -> None:
    """The header names a holder by pid and start time; a stranger with its pid lives."""
    stranger = cluster.start(cluster.blocks(), pause="opened")
    stranger.wait_for("opened")
    stranger.kill()
    bystander = WorkerProcess(
        order(cluster.driver, cluster.host.with_name("other"), SHAPE, cluster.blocks(), pause="opened")
    )
    cluster.workers.append(bystander)
    bystander.wait_for("opened")
    fields = cluster.window.memory.header.fields
    fields[Field.HOLDER_PID] = bystander.process.pid
    header = cluster.window.memory.header
    cluster.window.memory.locks._overtake(bystander.process.pid, 0, fields.shape[1], header, Token(9, 9, 9))
    assert bystander.process.poll() is None


@pytest.mark.parametrize("cluster", [SHAPE, CHUNKED], indirect=True, ids=str)
def test_random_kills_at_random_moments(cluster: Cluster) -> None:
    """Workers that die anywhere, several times a batch; only what a manifest names is there in the end."""
    for _ in range(4):
        blocks = cluster.blocks()
        for _ in range(cluster.random.randrange(3)):
            victim = cluster.start(blocks, pause="endless")
            for _ in range(cluster.random.randrange(1, 20)):
                victim.wait_for("endless")
            victim.kill()
        if cluster.random.random() < 0.5:
            cluster.driver.restart()
        cluster.commit(blocks)
    assert cluster.rows() == cluster.plain.rows()
    assert np.array_equal(cluster.driver.manifests.ledgers(3)["window"].heads, cluster.driver.ledger.heads)
