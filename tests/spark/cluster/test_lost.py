"""A cluster that has no workers, or loses them: one clear sentence, and nothing hangs."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.spark.executors import executor_watch
from penstock.spark.executors.executor_watch import wait_for_executors
from penstock.spark.session.session import close_session, spark_session
from penstock.testing import loopback_cluster
from tests.spark.cluster.cluster import needs_cluster
from tests.spark.cluster.test_cluster import small_batches, started, wait_for_batch

pytestmark = needs_cluster


def test_a_cluster_without_workers_and_one_that_loses_them_are_told_in_one_sentence(
    tmp_path: Path, no_session: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_watch, "PATIENCE_S", 5.0)
    with loopback_cluster(tmp_path / "cluster", workers=1) as cluster:
        session = spark_session(cluster.url, conf={"spark.executor.memory": "512m"})
        try:
            handle = started(session, tmp_path / "c", small_batches(2))
            wait_for_batch(handle, 1)
            cluster.end_workers()
            with pytest.raises(
                InputError, match=r"all executors of master 'spark://.*' are gone for 5 s; start workers"
            ):
                handle.wait(120)
            handle.stop()
            with pytest.raises(InputError, match=r"master 'spark://.*' gave no executor within 5 s; start workers"):
                wait_for_executors(session)
        finally:
            close_session(session)
