"""Spark sessions of the benches, on two task slots of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from penstock.spark.session.session import close_session, open_session

# RocksDB's state store of Spark 4.3 insists on the checksummed local file system, which our own sessions do without.
STOCK_CONF = {
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.shuffle.partitions": "2",
}


@contextmanager
def local_session(conf: Mapping[str, str] | None = None, task_slots: int | None = None) -> Iterator[Any]:
    """Spark on two cores, closed afterwards."""
    session = open_session("local[2]", task_slots=task_slots, conf=conf, name="penstock-bench")
    try:
        yield session
    finally:
        close_session(session)
