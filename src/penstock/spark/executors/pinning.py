"""Partitions pinned to hosts, so that a replica runs where its slots are.

Spark schedules a shuffled partition on any executor.  A union with an empty RDD of as many partitions, each of which
prefers a host, carries these over and adds no row (docs/design/0011-pinning.md).  The names that Spark keeps
to itself are all in this file; tests/spark/cluster/test_pinning.py says what must hold of them in another version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InputError


def pinned(frame: DataFrame, hosts: Sequence[str]) -> DataFrame:
    """The frame with partition i preferring `hosts[i]`; on a local master, the frame itself.

    Preferring: Spark waits `spark.locality.wait.node` (30 s in our sessions) for a free slot on that host, runs the
    partition elsewhere after that, and does not wait for a host without executors.
    """
    session = frame.sparkSession
    if is_local(session):
        return frame
    rows = frame._jdf.queryExecution().toRdd()
    count = rows.getNumPartitions()
    if count != len(hosts):
        raise InputError(f"pinning needs a host for each of {count} partitions; got {len(hosts)}")
    context = session.sparkContext
    row_class = rows.elementClassTag()
    together = _utilities(context).toSeq([rows, _preferring(context, tuple(hosts), row_class)])
    jvm: Any = context._jvm
    union = jvm.org.apache.spark.rdd.SQLPartitioningAwareUnionRDD(context._jsc.sc(), together, count, row_class)
    return DataFrame(session._jsparkSession.internalCreateDataFrame(union, frame._jdf.schema(), False), session)


def on_hosts(session: SparkSession, hosts: Sequence[str]) -> DataFrame:
    """A frame without rows whose partition i prefers `hosts[i]`: for what is to be done once on each host."""
    nothing = session.range(0)
    row_class = nothing._jdf.queryExecution().toRdd().elementClassTag()
    rows = _preferring(session.sparkContext, tuple(hosts), row_class)
    return DataFrame(session._jsparkSession.internalCreateDataFrame(rows, nothing._jdf.schema(), False), session)


def is_local(session: SparkSession) -> bool:
    """Whether all tasks run in the driver's own process."""
    return str(session.sparkContext.master).startswith("local")


def cores_by_host(session: SparkSession) -> dict[str, int]:
    """The task slots of the executors that are there now, by host; on a local master, of the driver's."""
    executors = session.sparkContext._jsc.sc().statusStore().executorList(True)
    cores: dict[str, int] = {}
    for executor in [executors.apply(i) for i in range(executors.size())]:
        if is_local(session) or executor.id() != "driver":
            host = executor.hostPort().rsplit(":", 1)[0]
            cores[host] = cores.get(host, 0) + int(executor.totalCores())
    return cores


# Steady routes ask for the same hosts at every micro-batch, and making this RDD takes a dozen calls into the JVM.
_MADE_MAX = 4
_made: WeakKeyDictionary[SparkContext, dict[tuple[str, ...], Any]] = WeakKeyDictionary()


def _preferring(context: SparkContext, hosts: tuple[str, ...], row_class: Any) -> Any:
    """An RDD without rows whose partition i prefers `hosts[i]`."""
    made = _made.setdefault(context, {})
    if hosts not in made:
        utilities, jvm = _utilities(context), cast(Any, context._jvm)
        preferences = utilities.toScalaMap({i: utilities.toSeq([host]) for i, host in enumerate(hosts)})
        while len(made) >= _MADE_MAX:
            del made[next(iter(made))]
        made[hosts] = jvm.org.apache.spark.rdd.ParallelCollectionRDD(
            context._jsc.sc(), utilities.toSeq([]), len(hosts), preferences, row_class
        )
    return made[hosts]


def _utilities(context: SparkContext) -> Any:
    jvm: Any = context._jvm
    return jvm.org.apache.spark.api.python.PythonUtils
