"""The executors of a cluster: waited for at the start, and missed when all of them are gone.

Spark itself waits for executors without an end, and says so only in its log.
"""

from __future__ import annotations

import time

from pyspark.sql import SparkSession

from penstock.errors import InputError
from penstock.spark.executors.cluster_executors import ClusterExecutors
from penstock.spark.executors.pinning import cores_by_host, is_local

PATIENCE_S = 60.0
_LOOK_EVERY_S = 1.0
_SETTLE_S = 2.0


def wait_for_executors(session: SparkSession) -> None:
    """Waits until a cluster has given executors, and for a moment no more of them; does nothing on a local master."""
    if is_local(session):
        return
    started_s = time.monotonic()
    cores, changed_s = cores_by_host(session), started_s
    while not cores or time.monotonic() - changed_s < _SETTLE_S:
        if not cores and time.monotonic() - started_s > PATIENCE_S:
            raise InputError(f"master '{session.sparkContext.master}' gave no executor within {PATIENCE_S:.0f} s; "
                             "start workers, or free the cores and the memory that others hold")  # fmt: skip
        time.sleep(0.1)
        before, cores = cores, cores_by_host(session)
        changed_s = changed_s if cores == before else time.monotonic()


class ExecutorWatch:
    """Tells when a cluster has had no executor for longer than patience lasts."""

    def __init__(self, session: SparkSession) -> None:
        self._session, self._is_local = session, is_local(session)
        self._looked_s = self._seen_s = self._counted_s = time.monotonic()
        self._counted: int | None = None

    def count(self) -> int | None:
        """How many there are, looked up once a second; None on a local master."""
        now_s = time.monotonic()
        if not self._is_local and (self._counted is None or now_s - self._counted_s >= _LOOK_EVERY_S):
            self._counted, self._counted_s = len(ClusterExecutors(self._session).executors()), now_s
        return self._counted

    def check(self) -> None:
        """Raises one clear sentence where nobody is left to run the application; cheap to call often."""
        now_s = time.monotonic()
        if self._is_local or now_s - self._looked_s < _LOOK_EVERY_S:
            return
        self._looked_s = now_s
        if cores_by_host(self._session):
            self._seen_s = now_s
        elif now_s - self._seen_s > PATIENCE_S:
            raise InputError(f"all executors of master '{self._session.sparkContext.master}' are gone for "
                             f"{PATIENCE_S:.0f} s; start workers and run again with the same checkpoint")  # fmt: skip
