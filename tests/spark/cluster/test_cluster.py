"""Applications on a cluster whose hosts share nothing but the checkpoint: state stays where its replicas are."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from penstock import sinks
from penstock.plan.configuration import Configuration, ElementConfiguration, default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.spark.driver.handle import Handle
from penstock.spark.driver.start import start
from penstock.testing import Cluster
from tests.spark.applications import prices
from tests.spark.cluster.cluster import needs_cluster
from tests.spark.driver.test_query import TUPLES, expected

pytestmark = needs_cluster


def small_batches(replicas: int) -> Configuration:
    app = prices(sinks.memory(), TUPLES)
    configuration = default_configuration(pipeline_of(app.graph), replicas)
    return replace(configuration, block_rows=500, micro_batch_tuples=1_000)


def started(remote: SparkSession, folder: Path, configuration: Configuration) -> Handle:
    return start(prices(sinks.memory(), TUPLES), session=remote, checkpoint=folder, configuration=configuration)


def test_at_steady_routes_no_slot_is_rebuilt_over_forty_batches(
    remote: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    handle = started(remote, tmp_path / "c", small_batches(4))
    assert handle.wait(400)
    result = handle.stop()
    assert len(result.observations) == 40
    assert [o.slots_rebuilt for o in result.observations] == [0] * 40
    assert result.tables["out"].combine_chunks().equals(expected(prices(sinks.memory(), TUPLES)).combine_chunks())
    last = handle.checkpoint.plan(39)
    assert last is not None
    assert set(last.placements["window"].hosts) == set(cluster.hosts)
    for host in cluster.hosts:
        assert len(list(cluster.local_directory(host).glob(f"**/{handle.fixed.checkpoint_id}/**/header"))) == 1


def test_after_routes_moved_only_the_slots_that_changed_host_are_rebuilt(remote: SparkSession, tmp_path: Path) -> None:
    """Ten slots go from replica 0 to replica 1 on the other host; then the replicas swap names, and nothing moves."""
    configuration = small_batches(2)
    handle = started(remote, tmp_path / "c", configuration)
    route = configuration.element("window").route
    moved = (*[1] * 10, *route[10:])
    for step, own in enumerate((moved, tuple(1 - replica for replica in moved))):
        wait_for_batch(handle, 8 * (step + 1))
        handle.apply(configuration.with_element(ElementConfiguration("window", 2, own)))
    assert handle.wait(400)
    result = handle.stop()
    rebuilt = [o.slots_rebuilt for o in result.observations]
    assert 0 < sum(rebuilt) <= 10
    assert max(rebuilt) == sum(rebuilt), "all of them in one batch"
    assert result.tables["out"].combine_chunks().equals(expected(prices(sinks.memory(), TUPLES)).combine_chunks())


def test_more_replicas_are_placed_where_their_slots_are(remote: SparkSession, tmp_path: Path) -> None:
    handle = started(remote, tmp_path / "c", small_batches(2))
    for batch, replicas in ((6, 4), (14, 2)):
        wait_for_batch(handle, batch)
        handle.apply(handle.configuration.with_replicas("window", replicas))
    assert handle.wait(400)
    result = handle.stop()
    assert {len(o.replicas_by_element["window"]) for o in result.observations} == {2, 4}
    assert sum(o.slots_rebuilt for o in result.observations) == 0


def wait_for_batch(handle: Handle, batch: int) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        observation = handle.observe()
        if observation is not None and observation.batch >= batch:
            return
        assert not handle.wait(0.02), "the application ended before it was changed"
    raise TimeoutError(f"batch {batch} did not come")
