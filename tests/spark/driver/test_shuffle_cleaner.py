"""Shuffle files go soon after their micro-batch, without waiting for a garbage collection of the JVM."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock import sinks
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.shuffle_cleaner import clean_shuffles
from penstock.spark.driver.start import start
from penstock.spark.session.session import close_session, local_url, spark_session
from tests.spark.applications import prices

BATCHES = 60
BATCH_TUPLES = 200
REPLICAS = 2
MOST_FILES = 4 * 3 * 2 * REPLICAS  # four batches: three files of each map task's, of one shuffle


@pytest.fixture(scope="module")
def session(no_session: None) -> Iterator[SparkSession]:
    """A session in which Spark's own cleaner removes nothing, whenever the JVM collects garbage."""
    opened = spark_session("local[2]", task_slots=4, conf={"spark.cleaner.referenceTracking": "false"})
    yield opened
    close_session(opened)


def shuffles(session: SparkSession) -> list[str]:
    """The names of all shuffle files of a local session."""
    folder = session.sparkContext.getConf().get("spark.local.dir")
    assert folder is not None
    return [file.name for file in Path(folder).glob("blockmgr-*/*/shuffle_*")]


def settled(session: SparkSession, most: int) -> int:
    """How many shuffle files there are once at most so many are left, or after ten seconds."""
    deadline_s = time.monotonic() + 10
    while (count := len(shuffles(session))) > most and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return count


def test_many_batches_leave_few_shuffle_files(session: SparkSession) -> None:
    app = prices(sinks.discard(), BATCHES * BATCH_TUPLES)
    configuration = default_configuration(pipeline_of(app.graph), REPLICAS)
    configuration = replace(configuration, block_rows=BATCH_TUPLES, micro_batch_tuples=BATCH_TUPLES)
    before, most = len(shuffles(session)), 0
    handle = start(app, session=session, configuration=configuration)
    while not handle.wait(0.1):
        most = max(most, len(shuffles(session)) - before)
    result = handle.stop()
    assert len(result.observations) >= BATCHES
    assert 0 < most <= MOST_FILES
    assert settled(session, before) <= before  # none of its last batch either


def test_a_shuffle_stays_while_its_batch_may_ask_for_it_again(session: SparkSession, tmp_path: Path) -> None:
    """Jobs of one batch remove nothing of each other's; the first job of the next batch does."""
    made: list[set[str]] = []
    again: list[set[str]] = []

    def run(frame: DataFrame, batch: int) -> None:
        clean_shuffles(frame.sparkSession)
        before = set(shuffles(session))
        frame.repartitionById(2, F.lit(0)).toArrow()
        made.append(set(shuffles(session)) - before)
        frame.toArrow()  # a job of the same batch
        time.sleep(0.5)
        again.append(set(shuffles(session)) & made[-1])

    rate = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    writer = rate.writeStream.foreachBatch(run).option("checkpointLocation", local_url(str(tmp_path)))
    query = writer.trigger(processingTime="0 seconds").start()
    while len(again) < 3 and query.isActive:
        time.sleep(0.05)
    query.stop()
    assert all(made[:3])
    assert again[:3] == made[:3]
    assert not set().union(*made[:2]) & set(shuffles(session))


def test_queries_of_others_keep_their_shuffles(session: SparkSession, tmp_path: Path) -> None:
    made: set[str] = set()
    batches: list[int] = []

    def run(frame: DataFrame, batch: int) -> None:
        before = set(shuffles(session))
        frame.repartitionById(2, F.lit(0)).toArrow()
        made.update(set(shuffles(session)) - before)
        batches.append(batch)

    clean_shuffles(session)
    rate = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    writer = rate.writeStream.foreachBatch(run).option("checkpointLocation", local_url(str(tmp_path)))
    query = writer.trigger(processingTime="0 seconds").start()
    while len(batches) < 3 and query.isActive:
        time.sleep(0.05)
    query.stop()
    assert made
    assert made <= set(shuffles(session))
