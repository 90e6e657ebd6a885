"""Where replicas run, batch after batch: the hosts that have executors, and the placements that follow from them."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from penstock.control.configuration import Configuration
from penstock.plan.pipeline import Pipeline
from penstock.plan.placement import Placement, place
from penstock.spark.pinning import cores_by_host, is_local, pinned


class Placer:
    """The placements of one query; only elements that may have state are placed, and none on a local master."""

    def __init__(self) -> None:
        self._cores: dict[str, int] = {}
        self.staying: Mapping[str, int] | None = None  # cores by host while others are about to be given back
        self.newest: Mapping[str, Placement] = {}

    def placements(
        self, session: SparkSession, pipeline: Pipeline, configuration: Configuration, before: Mapping[str, Placement]
    ) -> dict[str, Placement]:
        """The placements of a batch, given those of the batch before it."""
        if is_local(session):
            return {}
        wanted = [configuration.element(e.name) for e in pipeline.elements[1:] if e.scope != "none"]
        now = cores_by_host(session)
        if self.staying is not None:
            own = {host: min(count, self.staying.get(host, 0)) for host, count in now.items()}
            now = {host: count for host, count in own.items() if count} or now
            self._cores = {host: min(count, now.get(host, 0)) for host, count in self._cores.items()}
        if not now:  # nobody is there to be preferred
            return {}
        # A host of several executors that lost one is no smaller host: it will be back before slots could move twice.
        cores = {host: max(count, self._cores.get(host, 0)) for host, count in now.items()}
        self._cores |= cores
        self.newest = {e.name: place(e.replicas, e.route, cores, before.get(e.name)) for e in wanted}
        return dict(self.newest)


def placed(frame: DataFrame, placement: Placement | None) -> DataFrame:
    """An exchanged frame with its replicas where they are to run."""
    return frame if placement is None else pinned(frame, placement.hosts)
