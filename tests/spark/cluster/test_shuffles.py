"""On a cluster, too, shuffle files go soon after their micro-batch, from the disks of all hosts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from penstock import sinks
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.start import start
from penstock.spark.session.session import close_session, spark_session
from penstock.testing import Cluster
from tests.spark.applications import prices
from tests.spark.cluster.cluster import needs_cluster

BATCHES, BATCH_TUPLES, REPLICAS = 100, 200, 2
MOST_FILES = 4 * 3 * 4  # four batches: three files of each map task's, of which a cluster of four cores has four


@pytest.fixture(scope="module")
def remote(cluster: Cluster, no_session: None) -> Iterator[SparkSession]:
    """A session in which Spark's own cleaner removes nothing, whenever the JVM collects garbage."""
    conf = {"spark.executor.memory": "512m", "spark.cleaner.referenceTracking": "false"}
    opened = spark_session(cluster.url, conf=conf)
    yield opened
    close_session(opened)


def shuffle_files(cluster: Cluster) -> int:
    return sum(1 for host in cluster.hosts for _ in cluster.local_directory(host).rglob("shuffle_*"))


@needs_cluster
def test_hosts_keep_few_shuffle_files(remote: SparkSession, cluster: Cluster) -> None:
    app = prices(sinks.discard(), BATCHES * BATCH_TUPLES)
    configuration = default_configuration(pipeline_of(app.graph), REPLICAS)
    configuration = replace(configuration, block_rows=BATCH_TUPLES, micro_batch_tuples=BATCH_TUPLES)
    before, most = shuffle_files(cluster), 0
    handle = start(app, session=remote, configuration=configuration)
    while not handle.wait(0.1):
        most = max(most, shuffle_files(cluster) - before)
    assert len(handle.stop().observations) >= BATCHES
    assert 0 < most <= MOST_FILES
