"""A micro-batch as reported by its tasks and the driver's clock; its Observation is made when it is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.measure.batch.batch_figures import Moments, Reports, observation_of
from penstock.measure.observation import Observation
from penstock.measure.task.task_report import TaskReport, decode


@dataclass(frozen=True, slots=True)
class MeasuredBatch:
    """`reports` are (element, report as it came); `first` is the element that reads the sources."""

    batch: int
    moments: Moments
    reports: tuple[tuple[str, bytes], ...]
    first: str
    sinks: frozenset[str]
    tuples_in: int
    dead_letters: int = 0
    waiting_tuples: int = 0
    resumed_tuples: int = 0
    watermark_s: float | None = None

    @property
    def plain(self) -> tuple[Any, ...]:
        """What `measured_batch` makes it from: tuples are pickled several times as fast."""
        m = self.moments
        moments = m.began_s, m.planned_s, m.ran_s, m.committed_s
        return (
            self.batch, moments, self.reports, self.first, tuple(self.sinks), self.tuples_in, self.dead_letters,
            self.waiting_tuples, self.resumed_tuples, self.watermark_s,
        )  # fmt: skip

    def read(self) -> Reports:
        """The reports by element."""
        found: dict[str, list[TaskReport]] = {}
        for element, payload in self.reports:
            found.setdefault(element, []).append(decode(payload))
        return found

    def observation(self, reports: Reports) -> Observation:
        """What the tasks say; what other clocks say is added later."""
        own = observation_of(self.batch, self.moments, reports, self.tuples_in, self.sinks, self.dead_letters)
        if not self.waiting_tuples and not self.resumed_tuples and self.watermark_s is None:
            return own
        return replace(
            own, waiting_tuples=self.waiting_tuples, resumed_tuples=self.resumed_tuples, watermark_s=self.watermark_s
        )


def measured_batch(plain: tuple[Any, ...]) -> MeasuredBatch:
    batch, moments, reports, first, sinks, *counts = plain
    return MeasuredBatch(batch, Moments(*moments), reports, first, frozenset(sinks), *counts)
