"""Runs the application of the benchmark `soak`, looks at what it takes, changes its Configuration every minute."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import penstock as ps
from benchmarks.report import Show
from benchmarks.soak.soak_scene import KEYED, SoakEffort, soak_application
from benchmarks.soak.usage import Usage, usage
from benchmarks.spark.watching import started
from penstock.measure.latency_sketch import LatencySketch, merged
from penstock.measure.observation import Latency, Observation, latency_of
from penstock.spark.driver.handle import Handle
from penstock.testing import local_session

_REPLICAS = (2, 3, 1, 4)
_LOOK_EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class SoakResult:
    """What was seen: looks by time, the latencies of the first and the last part, and counts over all."""

    looks: tuple[Usage, ...]
    first: Latency | None
    last: Latency | None
    batches: int
    tuples: int
    changes: int
    dead_letters: int


def run_soak(effort: SoakEffort, folder: Path, show: Show) -> SoakResult:
    """Runs for as long as asked."""
    out = folder / "out"
    app = soak_application(effort, out)
    conf = {"spark.driver.memory": "1g", "spark.local.dir": str(folder / "spark")}
    with local_session(conf=conf) as session:
        configuration = ps.Configuration.of(app, replicas=2)
        with started(session, app, folder / "checkpoint", configuration) as handle:
            soak = _Soak(effort, handle, configuration)
            while not soak.is_over:
                soak.step(lambda at_s: usage(at_s, session, folder, out))
                show(soak.text)
            return soak.result()


class _Soak:
    """A run under way; its time begins with the first micro-batch."""

    def __init__(self, effort: SoakEffort, handle: Handle, configuration: ps.Configuration) -> None:
        self._effort, self._handle, self._configuration = effort, handle, configuration
        while handle.observe() is None:
            handle.wait(timeout_s=_LOOK_EVERY_S)
        self._begin_s = self._at_s = time.monotonic()
        self._begin_at_s = time.time()
        self._looks: list[Usage] = []
        self._parts = {"first": PartLatency(), "last": PartLatency()}
        self._batch, self._batches, self._tuples, self._letters, self._changes = -1, 0, 0, 0, 0

    @property
    def is_over(self) -> bool:
        return self._spent_s >= 60 * self._effort.minutes

    @property
    def _spent_s(self) -> float:
        return self._at_s - self._begin_s

    @property
    def text(self) -> str:
        look = self._looks[-1]
        return (f"{self._spent_s / 60:.1f} of {self._effort.minutes:g} minutes, {self._batches:,} micro-batches, "
                f"memory {look.memory_mb:.0f} MB, disk {look.disk_mb:.1f} MB")  # fmt: skip

    def step(self, look: Callable[[float], Usage]) -> None:
        """Waits a little, and does what is due."""
        self._handle.wait(timeout_s=_LOOK_EVERY_S)
        self._at_s = time.monotonic()
        self._take()
        if not self._looks or self._spent_s >= self._looks[-1].at_s + self._effort.sample_s:
            self._looks.append(look(self._spent_s))
        if self._spent_s >= (self._changes + 1) * self._effort.change_s:
            self._change()

    def _take(self) -> None:
        """Counts the micro-batches since the last time, and keeps those of the first and the last part."""
        self._handle.observe()
        new = [o for o in self._handle.result.observations[-2_000:] if o.batch > self._batch]
        for own in new:
            self._batch = own.batch
            self._batches, self._tuples = self._batches + 1, self._tuples + own.tuples_in
            self._letters += own.dead_letters
            part = self._part(own.started_at_s - self._begin_at_s)
            if part is not None:
                self._parts[part].add(own)

    def _part(self, at_s: float) -> str | None:
        effort = self._effort
        if at_s >= 60 * effort.minutes - effort.part_s:
            return "last"
        return "first" if effort.warm_s <= at_s < effort.warm_s + effort.part_s else None

    def _change(self) -> None:
        self._changes += 1
        configuration = self._configuration
        for place, name in enumerate(element for element in KEYED if self._has(element)):
            replicas = _REPLICAS[(self._changes + place) % len(_REPLICAS)]
            configuration = configuration.with_replicas(name, replicas)
        self._handle.apply(configuration)

    def _has(self, element: str) -> bool:
        return any(own.name == element and own.route for own in self._configuration.elements)

    def result(self) -> SoakResult:
        first, last = (self._parts[name].latency for name in ("first", "last"))
        counts = self._batches, self._tuples, self._changes, self._letters
        return SoakResult(tuple(self._looks), first, last, *counts)


class PartLatency:
    """The latency of a part's results, added up as they come: what is kept must not be what grows."""

    def __init__(self) -> None:
        self._sketch, self._took_ms = LatencySketch(), array("d")

    def add(self, own: Observation) -> None:
        """One more micro-batch."""
        self._took_ms.append(1000 * own.micro_batch_s)
        if own.latency is not None and own.latency.sketch is not None:
            self._sketch = merged([self._sketch, own.latency.sketch])

    @property
    def latency(self) -> Latency | None:
        """Of all results; where Observations have none, how long the micro-batches took."""
        known = latency_of(self._sketch)
        if known is not None or not self._took_ms:
            return known
        p50, p95, p99 = (float(np.quantile(self._took_ms, ratio)) for ratio in (0.5, 0.95, 0.99))
        return Latency(p50, p95, p99, max(self._took_ms))
