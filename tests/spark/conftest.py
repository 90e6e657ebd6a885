"""One local session for all tests of Spark: starting one takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from penstock.spark.session import close_session, open_session


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    opened = open_session("local[2]", task_slots=4)
    yield opened
    close_session(opened)
