"""One local session for all tests of Spark: starting one takes seconds."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from penstock.spark.session import close_session, open_session

_shared: list[SparkSession] = []


def _close_shared() -> None:
    while _shared:
        close_session(_shared.pop())


@pytest.fixture(scope="module")
def session() -> SparkSession:
    """The shared session on a local master with four slots."""
    if not _shared:
        _shared.append(open_session("local[2]", task_slots=4))
    return _shared[0]


@pytest.fixture(scope="module")
def no_session() -> None:
    """A process without any session, for modules that open one on another master."""
    _close_shared()


def pytest_sessionfinish() -> None:
    _close_shared()
