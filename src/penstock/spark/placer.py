"""Where replicas can run: the hosts that have executors, and frames whose partitions stay on them."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from penstock.plan.placement import Placement
from penstock.spark.pinning import cores_by_host, is_local, pinned


class Hosts:
    """The hosts of one query's executors."""

    def __init__(self) -> None:
        self._cores: dict[str, int] = {}

    def cores(self, session: SparkSession) -> dict[str, int]:
        """The cores of each host that has executors now; none on a local master, where there is nothing to choose."""
        if is_local(session):
            return {}
        now = cores_by_host(session)
        # A host of several executors that lost one is no smaller host: it will be back before slots could move twice.
        self._cores |= {host: max(count, self._cores.get(host, 0)) for host, count in now.items()}
        return {host: self._cores[host] for host in now}


def placed(frame: DataFrame, placement: Placement | None) -> DataFrame:
    """An exchanged frame with its replicas where they are to run."""
    return frame if placement is None else pinned(frame, placement.hosts)
