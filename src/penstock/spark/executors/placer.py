"""Where replicas can run: the hosts that have executors, and frames whose partitions stay on them."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from penstock.measure.observation import Observation
from penstock.plan.placement.host_pace import HostPaces, ReplicaWork
from penstock.plan.placement.placement import Placement
from penstock.spark.executors.pinning import cores_by_host, is_local, pinned


class Placer:
    """The hosts of one query's executors."""

    def __init__(self) -> None:
        self._cores: dict[str, int] = {}
        self.staying: Mapping[str, int] | None = None  # cores by host while others are about to be given back
        self.newest: Mapping[str, Placement] = {}
        self.paces = HostPaces()
        self._hosts: dict[int, Mapping[str, Sequence[str]]] = {}  # by batch, where the replicas of each element were
        self.loads: Mapping[str, Sequence[float]] = {}  # work by slot of elements when routes were last chosen by it

    def cores(self, session: SparkSession) -> tuple[dict[str, int], set[str]]:
        """The cores of each host that replicas may run on, and the hosts that have executors and are about to go.

        None on a local master, where there is nothing to choose.
        """
        if is_local(session):
            return {}, set()
        now = cores_by_host(session)
        cores, leaving = now, set[str]()
        if self.staying is not None:
            own = {host: min(count, self.staying.get(host, 0)) for host, count in now.items()}
            cores = {host: count for host, count in own.items() if count} or now
            self._cores = {host: min(count, cores.get(host, 0)) for host, count in self._cores.items()}
            leaving = set(now) - set(cores)
        # A host of several executors that lost one is no smaller host: it will be back before slots could move twice.
        self._cores |= {host: max(count, self._cores.get(host, 0)) for host, count in cores.items()}
        return {host: self._cores[host] for host in cores}, leaving

    def note(self, batch: int, placements: Mapping[str, Placement]) -> None:
        """Where the replicas of a batch were, until it is observed."""
        if placements:
            self._hosts[batch] = {name: own.hosts for name, own in placements.items()}

    def learn(self, seen: Observation) -> None:
        """Learns from a batch what the cores of hosts do."""
        hosts = self._hosts.get(seen.batch, {})
        self._hosts = {batch: own for batch, own in self._hosts.items() if batch > seen.batch}
        if len({host for own in hosts.values() for host in own}) > 1:
            self.paces.learn(
                ReplicaWork(name, hosts[name][r.replica], r.tuples_in, r.cpu_s, r.stalled_s)
                for name, replicas in seen.replicas_by_element.items() if name in hosts
                for r in replicas if r.replica < len(hosts[name])
            )  # fmt: skip

    def hosts(self, session: SparkSession) -> list[str]:
        """The names of all hosts that have executors; on a local master, those of this machine."""
        known = sorted(cores_by_host(session))
        return [*known, "localhost", socket.gethostname()] if is_local(session) else known


def placed(frame: DataFrame, placement: Placement | None) -> DataFrame:
    """An exchanged frame with its replicas where they are to run."""
    return frame if placement is None else pinned(frame, placement.hosts)
