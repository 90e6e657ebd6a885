"""The data plane on several hosts: each with rows of its own, lost now and then, and slots copied between them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from penstock.app.graph import Graph
from penstock.plan.configuration import Configuration
from penstock.runtime.migration import copies, stale_copies
from penstock.runtime.migration.copies import Portion
from penstock.runtime.migration.migration import MIGRATIONS
from penstock.runtime.migration.stale_copies import Leftover
from penstock.runtime.replica import element_worker as workers
from penstock.spark.session.pickling import dumps
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.extents import Integers
from penstock.state.rows import slot_copy
from tests.dataplane.plane import Killed, Plane

HOSTS = ("a", "b", "c")


class HostsPlane(Plane):
    """Routes, hosts and the way slots move change from batch to batch; copies go on in between, and die half-way.

    No amount of state is too small to be copied, or to be waited for.
    """

    def __init__(
        self, graph: Graph, tables: Mapping[str, pa.Table], directory: Path, seed: int, kills: float,
        migrations: tuple[str, ...] = MIGRATIONS,
    ) -> None:  # fmt: skip
        self.migrations, self.way = migrations, migrations[0]
        self.alive: tuple[str, ...] = HOSTS
        self.kept: Configuration | None = None
        self.copied = self.waited = self.resumed = self.stayed = self.released = 0
        self._folder = directory / "hosts"
        self._workers_by_host: dict[str, dict[Any, Any]] = {host: {} for host in HOSTS}
        super().__init__(graph, tables, directory, seed, kills)
        self.migration = lambda: self.way

    def run_all(self) -> tuple[dict[str, pa.Table], pa.Table]:
        with patch.object(copies, "SMALL_BYTES", 0), patch.object(workers, "REBUILD_AT_ONCE_BYTES", 0), patch.object(
            copies, "PORTION_BYTES", 1
        ), patch.object(stale_copies, "RETENTION_S", 0.0):  # fmt: skip
            return super().run_all()

    def cores(self, frame: object) -> tuple[Mapping[str, int], set[str]]:
        return dict.fromkeys(self.alive, 2), set()

    def between_batches(self) -> None:
        self.way = self.random.choice(self.migrations)
        if self.random.random() < 0.3:
            self.alive = tuple(self.random.sample(HOSTS, self.random.randint(1, len(HOSTS))))
            for host in HOSTS:
                if host not in self.alive and self.random.random() < 0.5:
                    self._wipe(host)
        for _ in range(self.random.randrange(30)):
            self.copier.step()
        if self.random.random() < 0.5:
            self.copier.tidy()

    @contextmanager
    def on_host(self, plan: BatchPlan, number: int, replica: int) -> Iterator[None]:
        """Where the task was placed, and now and then elsewhere: Spark only prefers hosts."""
        placement = plan.placements.get(self.layout(plan.configuration).pipeline.elements[number].name)
        host = self.alive[0] if placement is None else placement.hosts[replica]
        with self._at(self.random.choice(self.alive) if self.random.random() < 0.05 else host):
            yield

    def run_copy(self, portion: Portion) -> Mapping[str, Integers]:
        done = {}
        for host, slots in portion.slots_by_host.items():
            with self._at(host), self._dying_half_way():
                assert self.in_force is not None
                worker = workers.element_worker(
                    str(self.checkpoint.directory),
                    self.epoch,
                    self.in_force.fused,
                    portion.element.number,
                    dumps=dumps,
                )
                done[host] = worker.copy(slots, portion.batch, self.epoch)
                self.copied += len(done[host])
        return done

    def run_release(self, leftover: Leftover) -> Mapping[str, Integers]:
        done = {}
        for host, slots in leftover.slots_by_host.items():
            with self._at(host):
                assert self.in_force is not None
                directory, number = str(self.checkpoint.directory), leftover.element.number
                worker = workers.element_worker(directory, self.epoch, self.in_force.fused, number, dumps=dumps)
                done[host] = worker.release(slots, leftover.batch, self.epoch)
                self.released += len(done[host])
                if self.random.random() < self.kills:
                    raise Killed
        return done

    def _keep(self, plan: BatchPlan, result: Any, observation: Any) -> None:
        super()._keep(plan, result, observation)
        self.waited += observation.waiting_tuples
        self.resumed += observation.resumed_tuples
        self.stayed += plan.target is not None

    def _any_configuration(self) -> Configuration:
        """Kept for some batches, so that slots have the time to move."""
        if self.kept is None or self.random.random() < 0.3:
            self.kept = super()._any_configuration()
        return self.kept

    @contextmanager
    def _at(self, host: str) -> Iterator[None]:
        """This process stands for a worker of a host."""
        folder = self._folder / host
        folder.mkdir(parents=True, exist_ok=True)
        with patch.dict(os.environ, {"SPARK_EXECUTOR_DIRS": str(folder)}), patch.object(
            workers, "_workers", self._workers_by_host[host]
        ):  # fmt: skip
            yield

    def _wipe(self, host: str) -> None:
        self._workers_by_host[host] = {}
        shutil.rmtree(self._folder / host, ignore_errors=True)

    @contextmanager
    def _dying_half_way(self) -> Iterator[None]:
        """A copy that dies has rebuilt some of the slots it had marked, and says nothing of it."""
        rebuild = slot_copy.rebuild

        def some(memory: Any, logs: Any, slots: Integers, is_dirty: Any, history: Any, replay: Any) -> None:
            count = self.random.randrange(len(slots) + 1)
            chosen = np.isin(history["slot"], slots[:count])
            rebuild(memory, logs, slots[:count], is_dirty[:count], history[chosen], replay)
            raise Killed

        if self.random.random() < self.kills:
            with patch.object(slot_copy, "rebuild", some):
                yield
        else:
            yield
