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
_WARM_UP_S = 3.0  # of one round of small micro-batches, while the JVM compiles what tasks do
_WARM_UPS = 8
_STEADY = 0.95  # of the round before: the JVM has compiled what it will


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

    `warms_up`: small micro-batches run first, until their CPU no longer falls: the JVM takes some hundred tasks to
    compile what they do, and a task costs it three times as much before.
    """
    points: list[CalibrationPoint] = []
    if warms_up:
        _warm_up(session, columns[0], tell)
    for place, own in enumerate(columns):

        def reported(share: float, done: float = place / len(columns)) -> None:
            tell("communication", done + share / len(columns))

        points += _of_width(session, own, seconds, reported)
    return points


def _warm_up(session: SparkSession, columns: int, tell: Tell) -> None:
    app = calibration_application(columns)
    configuration = app.configuration(1).with_fusion(app.graph, CUT)
    tuples = batch_sizes(columns)[0]
    before_s = float("inf")
    with RateRun(app.graph, replace(configuration, micro_batch_tuples=tuples), session) as run:
        for number in range(_WARM_UPS):

            def reported(share: float, done: float = number / _WARM_UPS) -> None:
                tell("warm-up", done + share / _WARM_UPS)

            seen = run.visit(configuration, tuples, _WARM_UP_S, reported)
            cpu_s = sum(own.cpu_s for own in _middle(seen).elements.values())
            if cpu_s > _STEADY * before_s:
                break
            before_s = cpu_s


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
