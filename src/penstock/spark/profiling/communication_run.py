"""The communication learner on Spark: a source, an exchange, a functor that drops all, over widths and envelopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from statistics import median

from pyspark.sql import SparkSession

from penstock.measure.observation import Observation
from penstock.model.costs.learning.calibration import CalibrationPoint, Role, calibrated
from penstock.model.costs.learning.learned_profile import Overhead
from penstock.model.costs.learning.samples import ElementSample, Sample, samples_of
from penstock.runtime.profiling.calibration_application import (
    BLOCK_ROWS,
    COLUMNS,
    CUT,
    DROP,
    FUSED,
    SOURCE,
    batch_sizes,
    calibration_application,
)
from penstock.spark.profiling.rate_run import RateRun

Tell = Callable[[str, float], None]
VISIT_S = 1.5


def learned_overhead(session: SparkSession, tell: Tell, columns: Sequence[int] = COLUMNS) -> Overhead:
    """What tasks, envelopes and communication cost on this node."""
    return calibrated(calibration_points(session, tell, columns))


def calibration_points(
    session: SparkSession,
    tell: Tell,
    columns: Sequence[int] = COLUMNS,
    seconds: float = VISIT_S,
    *,
    warms_up: bool = True,
) -> list[CalibrationPoint]:
    """What was measured for every width, envelope size and micro-batch size, fused and cut.

    `warms_up`: the first width is measured twice, and counts the second time, as the JVM compiles during the first.
    """
    visits = [*columns[: int(warms_up)], *columns]
    points: list[CalibrationPoint] = []
    for place, own in enumerate(visits):

        def reported(share: float, done: float = place / len(visits)) -> None:
            tell("communication", done + share / len(visits))

        found = list(_of_width(session, own, seconds, reported))
        points += found if place or not warms_up else []
    return points


def _of_width(
    session: SparkSession, columns: int, seconds: float, tell: Callable[[float], None]
) -> Iterator[CalibrationPoint]:
    app = calibration_application(columns)
    first = app.configuration(1).with_fusion(app.graph, FUSED)
    visits = list(product((FUSED, CUT), BLOCK_ROWS, batch_sizes(columns)))
    found: list[tuple[bool, int, Sample]] = []
    with RateRun(app.graph, replace(first, micro_batch_tuples=visits[0][2]), session) as run:
        for number, (fusion, block_rows, tuples) in enumerate(visits):
            configuration = replace(first.with_fusion(app.graph, fusion), block_rows=block_rows)
            seen = run.visit(configuration, tuples, seconds, lambda own, n=number: tell((n + own) / len(visits)))  # type: ignore[misc]
            found.append((fusion is FUSED, block_rows, _middle(seen)))
    widths = [own.bytes_in[SOURCE] / own.tuples_in[SOURCE] for cut, _, s in found if not cut
              for own in [s.elements[DROP]]]  # fmt: skip
    for is_fused, block_rows, sample in found:
        for name, own in sample.elements.items():
            role: Role = "fused" if is_fused else "receives" if name == DROP else "sends"
            yield _point(role, median(widths), sample.tuples, block_rows, own)


def _middle(seen: Sequence[Observation]) -> Sample:
    return max(samples_of(seen, undisturbed=True), key=lambda sample: sample.batches)


def _point(role: Role, width: float, tuples: float, block_rows: int, own: ElementSample) -> CalibrationPoint:
    timed_s = sum(operator.cpu_s or 0.0 for operator in own.operators.values())
    return CalibrationPoint(role, width, tuples, -(-tuples // block_rows), own.tasks, max(own.cpu_s - timed_s, 0.0))
