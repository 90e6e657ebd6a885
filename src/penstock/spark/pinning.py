"""Partitions pinned to hosts, so that a replica runs where its slots are.

Spark schedules a shuffled partition on any executor.  A union with an empty RDD of as many partitions, each of which
prefers a host, carries these over and adds no row (docs/design/0011-pinning.md).  The names that Spark keeps
to itself are all in this file; tests/spark/test_pinning.py says what must hold of them in another version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InputError


def pinned(frame: DataFrame, hosts: Sequence[str]) -> DataFrame:
    """The frame with partition i preferring `hosts[i]`; on a local master, the frame itself.

    Preferring: Spark waits `spark.locality.wait` (3 s) for a free slot on that host, and does not wait for a host
    without executors.
    """
    session = frame.sparkSession
    if is_local(session):
        return frame
    rows = frame._jdf.queryExecution().toRdd()
    if rows.getNumPartitions() != len(hosts):
        raise InputError(f"pinning needs a host for each of {rows.getNumPartitions()} partitions; got {len(hosts)}")
    together = _union(session, [rows, _preferring(session, hosts, rows.elementClassTag())], rows.elementClassTag())
    return DataFrame(session._jsparkSession.internalCreateDataFrame(together, frame._jdf.schema(), False), session)


def is_local(session: SparkSession) -> bool:
    """Whether all tasks run in the driver's own process."""
    return str(session.sparkContext.master).startswith("local")


def executor_hosts(session: SparkSession) -> tuple[str, ...]:
    """The hosts that have executors now, each once, in alphabetical order; on a local master, the driver's."""
    executors = session.sparkContext._jsc.sc().statusStore().executorList(True)
    listed = [executors.apply(i) for i in range(executors.size())]
    serving = [executor for executor in listed if is_local(session) or executor.id() != "driver"]
    return tuple(sorted({executor.hostPort().rsplit(":", 1)[0] for executor in serving}))


def _preferring(session: SparkSession, hosts: Sequence[str], row_class: Any) -> Any:
    """An RDD without rows whose partition i prefers `hosts[i]`."""
    jvm: Any = session.sparkContext._jvm
    utils = jvm.org.apache.spark.api.python.PythonUtils
    preferences = {i: utils.toSeq([host]) for i, host in enumerate(hosts)}
    return jvm.org.apache.spark.rdd.ParallelCollectionRDD(
        session.sparkContext._jsc.sc(), utils.toSeq([]), len(hosts), utils.toScalaMap(preferences), row_class
    )


def _union(session: SparkSession, rdds: list[Any], row_class: Any) -> Any:
    """Partition i of the result is partition i of each RDD in turn; it prefers what most of them prefer."""
    jvm: Any = session.sparkContext._jvm
    together = jvm.org.apache.spark.api.python.PythonUtils.toSeq(rdds)
    count = rdds[0].getNumPartitions()
    return jvm.org.apache.spark.rdd.SQLPartitioningAwareUnionRDD(
        session.sparkContext._jsc.sc(), together, count, row_class
    )
