"""Benchmark `migrate`: three to four replicas over two hosts under a load that steps up, by every way there is."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Show, work_folder
from benchmarks.spark.applications import KEYED, SINK
from benchmarks.spark.in_process import equals_in_process
from benchmarks.spark.migrate.migrate_change import Change, change_of, timed_batches
from benchmarks.spark.migrate.migrate_scene import (
    FEW,
    MANY,
    TIMED,
    MigrateEffort,
    next_step_up_s,
    scene_application,
    stepped_route,
)
from benchmarks.spark.sustained import configuration_of
from benchmarks.spark.watching import observations_of
from penstock.app.application import Application
from penstock.connectors.trace.source import TraceSource
from penstock.errors import InputError
from penstock.kernels.keys.row_checksum import add_checksums
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration, ElementConfiguration
from penstock.plan.elements.layout import layout_of
from penstock.plan.placement.moves import hosts_of_slots
from penstock.plan.placement.placement import Placement
from penstock.runtime.migration.migration import PRE_COPY, REPLICAS_WAIT, SPLITTER_HOLDS, movable_elements
from penstock.runtime.migration.stale_copies import Leftover
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import start
from penstock.spark.executors.copy_job import run_release
from penstock.spark.session.session import close_session, spark_session
from penstock.testing import loopback_cluster

RESTART = "stop and restart"
WAYS = (PRE_COPY, REPLICAS_WAIT, SPLITTER_HOLDS, RESTART)
_STEADY_S = 5.0  # before a change, of which latency is compared with
_APPLY_AFTER_S = 1.0  # the step is seen so long after it came
_TUPLE_BYTES, _SPACE_RATIO = 56, 4  # of state per tuple of a window; both hosts, files that double, and others' needs
_ANY = 1 << 62  # of batches: none is newer


@dataclass(frozen=True, slots=True)
class MigrateResult:
    """All changes, how much state went from host to host at each, and whether all results were right."""

    changes: tuple[Change, ...]
    moved_keys_ratio: float
    moved_bytes: int
    state_bytes: int
    is_exact: bool
    tuples: int


class MigrateRun:
    """One application over all changes; a restart goes on with it in a new session."""

    def __init__(self, effort: MigrateEffort, folder: Path, master: str, show: Show) -> None:
        self.effort, self.folder, self.master, self.show = effort, folder, master, show
        self.app: Application = scene_application(effort, folder)
        self.few: Configuration = replace(configuration_of(self.app, FEW), block_rows=effort.block_rows)
        self.many: Configuration = self.few  # known once the three have their places
        self.session: Any = None
        self.handle: Handle | None = None
        self.seen: list[Observation] = []  # of handles that were stopped
        self.discarded = (0, 0)
        self.hosts: tuple[list[str], list[str]] = ([], [])  # of each slot, before and after a change
        self.state_bytes = 0

    @contextmanager
    def started(self) -> Iterator[None]:
        """The application at work with three replicas, its windows filled; nothing is left at the end."""
        try:
            self._start(self.few)
            self._await(lambda: self._tuples() >= self.effort.fill_tuples, "filling windows", 600.0)
            self._choose_routes()
            yield
        finally:
            self._stop()

    def change(self, way: str, what: str) -> Change:
        """From three to four replicas when the rate steps up, and back again."""
        applied_s = self._step_up(what)
        first = self._newest().batch
        if way == RESTART:
            self._stop()
            self._start(self.many)
        else:
            self._own.apply(self.many, migration=way)
        end_s = applied_s + self.effort.half_s - _APPLY_AFTER_S
        self._await(lambda: self._clock_s() >= end_s and self._has_switched() and self._has_caught_up(), what)
        observed = [o for o in self._all() if o.committed_at_s is not None
                    and o.committed_at_s - self._began_s > applied_s - _STEADY_S]  # fmt: skip
        switched_s = next(o for o in observed if o.batch > first and self._replicas(o) == MANY).started_at_s
        is_moved = np.array(self.few.element(KEYED).route) != np.array(self.many.element(KEYED).route)
        is_away = np.array(self.hosts[0]) != np.array(hosts_of_slots(self._placement(), 0))
        timed = timed_batches(observed, self.folder / TIMED, self._trace, self._began_s, is_moved, is_away)
        self._go_back(what)
        return change_of(way, timed, applied_s, switched_s - self._began_s)

    def total(self) -> tuple[int, int, int]:
        """Tuples taken in all, and count and checksum of all results."""
        return sum(o.tuples_in for o in self.seen), *self.discarded

    @property
    def _own(self) -> Handle:
        assert self.handle is not None
        return self.handle

    @property
    def _began_s(self) -> float:
        return self._own.fixed.started_at_s

    @property
    def _trace(self) -> Any:
        connector = self._own.fixed.graph.sources[0].connector
        assert isinstance(connector, TraceSource)
        return connector.open()

    def _clock_s(self) -> float:
        return time.time() - self._began_s

    def _all(self) -> list[Observation]:
        return [*self.seen, *(observations_of(self._own) if self.handle is not None else [])]

    def _newest(self) -> Observation:
        return self._all()[-1]

    def _tuples(self) -> int:
        return sum(o.tuples_in for o in self._all())

    def _start(self, configuration: Configuration) -> None:
        conf = {"spark.executor.memory": "768m"}
        self.session = spark_session(self.master, conf=conf, name="penstock-bench")
        self.handle = start(
            self.app, session=self.session, checkpoint=self.folder / "checkpoint", configuration=configuration
        )

    def _stop(self) -> None:
        if self.handle is not None:
            result = self.handle.stop()
            self.seen += result.observations
            count, checksum = result.discarded.get(SINK, (0, 0))
            self.discarded = (self.discarded[0] + count, add_checksums(self.discarded[1], checksum))
            self.handle = None
        if self.session is not None:
            close_session(self.session)
            self.session = None

    def _await(self, happened: Any, what: str, limit_s: float | None = None) -> None:
        begin, limit_s = time.monotonic(), limit_s or self.effort.catch_up_limit_s
        while not happened():
            spent_s = time.monotonic() - begin
            if spent_s > limit_s:
                raise InputError(f"{what}: not done within {limit_s:.0f} s")
            self.show(f"{what}: {spent_s:.0f} s")
            self._own.wait(0.05)

    def _has_caught_up(self) -> bool:
        """Whether the newest batch left nothing that came more than two seconds before."""
        newest = observations_of(self._own)
        if not newest:
            return False
        return newest[-1].waiting_tuples == 0 and (newest[-1].backlog_age_s or 0.0) < 2.0

    def _has_switched(self) -> bool:
        newest = observations_of(self._own)
        return bool(newest) and self._replicas(newest[-1]) == MANY

    def _replicas(self, observation: Observation) -> int:
        return len(observation.replicas_by_element.get(KEYED, ()))

    def _placement(self) -> Placement:
        plan = self._own.checkpoint.plan(self._newest().batch)
        if plan is None or KEYED not in plan.placements:
            raise InputError("the cluster of a migration bench has two hosts; replicas were not placed on any")
        return plan.placements[KEYED]

    def _choose_routes(self) -> None:
        placement = self._placement()
        route = stepped_route(self.few.element(KEYED).route, placement.hosts)
        self.many = self.few.with_element(ElementConfiguration(KEYED, MANY, route))
        self.state_bytes = self._newest().operators[KEYED].state_bytes

    def _step_up(self, what: str) -> float:
        """Waits until some time after the next step up, with steady time before; the moment on the trace's clock."""
        self._await(self._has_caught_up, f"{what}: catching up", 600.0)
        step_s = next_step_up_s(self.effort, self._clock_s() + _STEADY_S)
        self._await(lambda: self._clock_s() >= step_s + _APPLY_AFTER_S, f"{what}: steady", self.effort.period_s * 3)
        self.hosts = (hosts_of_slots(self._placement(), 0), self.hosts[1])
        return self._clock_s()

    def _go_back(self, what: str) -> None:
        """Three replicas again, on hosts that know nothing of slots they do not serve."""
        self.hosts = (self.hosts[0], hosts_of_slots(self._placement(), 0))
        self._own.apply(self.few, migration=REPLICAS_WAIT)
        self._await(lambda: self._replicas(self._newest()) == FEW, f"{what}: back to three replicas")
        here = hosts_of_slots(self._placement(), 0)
        others = {host: [slot for slot, own in enumerate(here) if own != host] for host in set(here)}
        forget_slots(self._own, KEYED, others)

    def moved_ratio(self) -> float:
        """The share of slots that a change sends to the other host."""
        before, after = self.hosts
        return float(np.mean([a != b for a, b in zip(before, after, strict=True)]))


@contextmanager
def _hosts_folder(effort: MigrateEffort, folder: Path) -> Iterator[Path]:
    """Where hosts have their directories: in memory where there is room, so that the disk is the checkpoint's alone."""
    memory, needed = Path("/dev/shm"), _SPACE_RATIO * effort.fill_tuples * _TUPLE_BYTES
    if memory.is_dir() and shutil.disk_usage(memory).free > needed:
        with work_folder(memory) as place:
            yield place
    else:
        yield folder


def ways_of(run: int) -> tuple[str, ...]:
    """All ways, beginning with another in each run: whoever comes after a restart finds workers that are cold."""
    first = run % len(WAYS)
    return WAYS[first:] + WAYS[:first]


def run_migrate(effort: MigrateEffort, folder: Path, show: Show) -> MigrateResult:
    """A cluster of two hosts; every way in turn, again and again; then the engine in process over the same tuples."""
    show("starting a cluster of two hosts")
    changes = []
    with (
        _hosts_folder(effort, folder) as place,
        loopback_cluster(place / "cluster", workers=2, cores=4, memory_mb=1024) as cluster,
    ):
        run = MigrateRun(effort, folder / "run", cluster.url, show)
        with run.started():
            for number in range(effort.runs):
                changes += [run.change(way, f"run {number + 1} of {effort.runs}, {way}") for way in ways_of(number)]
    show("in-process engine over the same tuples")
    is_exact = equals_in_process(run.app, run.total(), effort.block_rows)
    routes = np.array(run.few.element(KEYED).route), np.array(run.many.element(KEYED).route)
    ratio = float((routes[0] != routes[1]).mean())
    moved_bytes = round(run.state_bytes * run.moved_ratio())
    return MigrateResult(tuple(changes), ratio, moved_bytes, run.state_bytes, is_exact, run.total()[0])


def forget_slots(handle: Handle, element: str, slots_by_host: Mapping[str, Sequence[int]]) -> None:
    """Empties slots of an element on some hosts, unless a task holds them."""
    fused = handle.configuration.fused
    movable = movable_elements(handle.fixed, layout_of(handle.fixed.graph, fused))[element]
    slots = {host: np.array(sorted(own), np.int64) for host, own in slots_by_host.items()}
    run_release(handle.session, str(handle.checkpoint.directory), handle.epoch, fused, Leftover(movable, slots, _ANY))
