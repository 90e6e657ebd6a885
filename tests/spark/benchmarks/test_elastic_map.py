"""`python -m benchmarks elastic-map` in small, on the shared session: everybody beside the elastic pool, in order."""

from __future__ import annotations

import time

import pytest
from pyspark.sql import SparkSession

from benchmarks.elastic_map.elastic_map import DELAY_MS, LEVELS, Effort, against_others, at_moving_knee
from benchmarks.elastic_map.figures import KNEES, Report
from benchmarks.elastic_map.slow_service import slow_service


@pytest.mark.long
def test_everybody_answers_in_order_and_calls_at_once_pay(session: SparkSession) -> None:
    report, told = Report(), []
    with slow_service(DELAY_MS) as port:
        against_others(session, port, Effort(0.3, 2.0, 0.0, rounds=1), report, told.append)
    names = [row.name for row in report.rows]
    assert names[:3] == ["plain mapInArrow", "plain mapInPandas", "Spark's concurrency.level"]
    assert names[3:] == [*(f"fixed {level}" for level in LEVELS), "elastic"]
    assert [row.level for row in report.rows if row.name.startswith("fixed")] == [str(level) for level in LEVELS]
    assert told[-1] == f"{report.rounds[0].fixed.name} and the elastic pool, round 1 of 1"
    assert [turn.elastic for turn in report.rounds] == [report.rows[-1]]
    assert report.rounds[0].fixed.name.startswith("fixed")
    assert report.rows[2].tuples_s > 3 * report.rows[0].tuples_s  # Spark's own threads are at work, too
    summary = report.summary()
    assert summary["in_order"] is True
    assert max(row.tuples_s for row in report.rows[:2]) <= 1_000 / DELAY_MS  # one call at a time cannot do more
    assert summary["speed_up"] > 1.5
    assert 0 < summary["ratio_to_best_static"] < 3


@pytest.mark.long
def test_every_knee_is_measured_and_the_job_ends_soon_after_the_last_one(session: SparkSession) -> None:
    report = Report()
    with slow_service(DELAY_MS, KNEES[0]) as port:
        at_moving_knee(session, port, Effort(0.2, 0.0, 2.0), report, lambda text: None)
        end_s = time.time()
    assert [knee.phase.knee for knee in report.knees] == list(KNEES)
    assert all(knee.phase.tuples_s > 0 and 0 <= knee.phase.past_knee_ratio <= 1 for knee in report.knees)
    assert end_s - report.knees[-1].phase.end_s < 30  # all rows that were left, without delay
    assert report.knees_in_order
