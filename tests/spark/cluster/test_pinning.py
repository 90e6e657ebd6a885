"""Partitions stay on the hosts they are pinned to, on a standalone cluster whose workers are hosts of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import InputError
from penstock.spark.executors.pinning import cores_by_host, pinned
from penstock.testing import Cluster
from tests.spark.cluster.cluster import needs_cluster

REPLICAS = 4
pytestmark = needs_cluster


def _where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    ids = [value for batch in batches for value in batch.column("id").to_pylist()]
    task = TaskContext.get()
    assert task is not None
    yield pa.record_batch({"partition": [task.partitionId()], "host": [os.environ["SPARK_LOCAL_IP"]], "ids": [ids]})


def _shuffled(session: SparkSession) -> DataFrame:
    replica = (F.col("id") % REPLICAS).cast("int")
    return session.range(64, numPartitions=2).withColumn("replica", replica).repartitionById(REPLICAS, F.col("replica"))


def _hosts_of_a_batch(frame: DataFrame) -> list[str]:
    rows = frame.mapInArrow(_where, "partition long, host string, ids array<long>").collect()
    return [row.host for row in sorted(rows, key=lambda row: row.partition)]


def test_executors_are_listed_by_host_without_the_driver(remote: SparkSession, cluster: Cluster) -> None:
    assert tuple(sorted(cores_by_host(remote))) == cluster.hosts


@pytest.mark.slow
def test_pinned_partitions_never_move_over_fifty_batches(remote: SparkSession, cluster: Cluster) -> None:
    wanted = [cluster.hosts[i % 2] for i in range(REPLICAS)]
    for _ in range(50):
        assert _hosts_of_a_batch(pinned(_shuffled(remote), wanted)) == wanted


def test_a_new_choice_of_hosts_is_in_force_at_the_next_batch(remote: SparkSession, cluster: Cluster) -> None:
    first, second = cluster.hosts
    for wanted in ([first] * 3 + [second], [second] * 3 + [first]):
        assert _hosts_of_a_batch(pinned(_shuffled(remote), wanted)) == wanted


def test_pinning_keeps_every_row_in_its_partition_and_adds_none(remote: SparkSession, cluster: Cluster) -> None:
    frame = pinned(_shuffled(remote), [cluster.hosts[0]] * REPLICAS)
    rows = frame.mapInArrow(_where, "partition long, host string, ids array<long>").collect()
    ids_by_partition = {row.partition: sorted(row.ids) for row in rows}
    assert ids_by_partition == {p: list(range(p, 64, REPLICAS)) for p in range(REPLICAS)}


def test_a_host_without_executors_is_not_waited_for(remote: SparkSession) -> None:
    _hosts_of_a_batch(_shuffled(remote))
    assert len(_hosts_of_a_batch(pinned(_shuffled(remote), ["127.0.0.99"] * REPLICAS))) == REPLICAS


def test_every_partition_needs_a_host(remote: SparkSession, cluster: Cluster) -> None:
    with pytest.raises(InputError, match="pinning needs a host for each of 4 partitions; got 1"):
        pinned(_shuffled(remote), [cluster.hosts[0]])


def test_workers_have_local_disks_of_their_own(cluster: Cluster) -> None:
    assert len({cluster.local_directory(host) for host in cluster.hosts}) == 2
    assert all(Path(cluster.local_directory(host)).is_dir() for host in cluster.hosts)
