"""The executors of a standalone, YARN or Kubernetes master, through the calls that Spark's own allocation uses.

Spark's dynamic allocation is made for batch jobs and must be off.  A request for a total is a target: executors that
are gone and still counted would be started anew, so that the target goes down with every one that is given back.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from penstock.control.live.executor_plan import Executor

_log = logging.getLogger(__name__)


class ClusterExecutors:
    """Spark's side of an executor pool."""

    def __init__(self, session: SparkSession) -> None:
        self._context: Any = session.sparkContext
        conf = session.sparkContext.getConf()
        self.decommissions = conf.get("spark.decommission.enabled", "false") == "true"
        self.is_possible = conf.get("spark.dynamicAllocation.enabled", "false") != "true"

    def executors(self) -> tuple[Executor, ...]:
        """Those that are there now."""
        listed = self._spark.statusStore().executorList(True)
        found = []
        for executor in (listed.apply(i) for i in range(listed.size())):
            name = str(executor.id())
            if name != "driver":
                host = str(executor.hostPort()).rsplit(":", 1)[0]
                found.append(Executor(name, host, int(executor.totalCores())))
        return tuple(sorted(found, key=lambda e: (e.host, e.name)))

    def ask(self, total: int) -> None:
        """Sets how many there are to be."""
        nobody = self._context._jvm.org.apache.spark.api.python.PythonUtils.toScalaMap({})
        self._spark.requestTotalExecutors(total, 0, nobody)

    def give_back(self, executors: Sequence[Executor], total: int) -> None:
        """Lets some go after the tasks they have; `total` are to stay."""
        names = [executor.name for executor in executors]
        self.ask(total)
        if self.decommissions:
            info = self._context._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo(
                "needed no more", self._context._jvm.scala.Option.empty()
            )
            for name in names:
                self._spark.schedulerBackend().decommissionExecutor(name, info, False, False)
        else:
            utilities = self._context._jvm.org.apache.spark.api.python.PythonUtils
            self._spark.killExecutors(utilities.toSeq(names))
        self.ask(total)
        _log.info("gave back executors %s; %d stay", ", ".join(names), total)

    @property
    def _spark(self) -> Any:
        return self._context._jsc.sc()
