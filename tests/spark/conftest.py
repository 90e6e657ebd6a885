"""One local session for all tests of Spark: starting one takes seconds."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.spark.executors.pinning import cores_by_host
from penstock.spark.session.session import _launches, close_session, spark_session
from penstock.testing import Cluster, loopback_cluster

_shared: list[SparkSession] = []


def _close_shared() -> None:
    while _shared:
        close_session(_shared.pop())


def _close_foreign() -> None:
    """Ends a session that a test left open: it may have another master and other settings."""
    if SparkSession.getActiveSession() is not None or SparkContext._active_spark_context is not None:
        for session in [*_launches]:
            close_session(session)
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()


@pytest.fixture(scope="module")
def session() -> SparkSession:
    """The shared session on a local master with four slots."""
    if not _shared:
        _close_foreign()
        gc.unfreeze()
        gc.collect()  # files that earlier tests have open: Spark's callbacks need a socket with a small number
        _shared.append(spark_session("local[2]", task_slots=4))
    return _shared[0]


@pytest.fixture(scope="module")
def no_session() -> None:
    """A process without any session, for modules that open one on another master."""
    _close_shared()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone cluster with two workers, for all tests that need one."""
    with loopback_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def remote(cluster: Cluster, no_session: None) -> Iterator[SparkSession]:
    """A session on the cluster, with all its executors there."""
    opened = spark_session(cluster.url, conf={"spark.executor.memory": "512m"})
    deadline = time.monotonic() + 90
    while len(cores_by_host(opened)) < len(cluster.hosts) and time.monotonic() < deadline:
        time.sleep(0.2)
    yield opened
    close_session(opened)


def pytest_sessionfinish() -> None:
    _close_shared()
