"""A session ends even where Spark's JVM does not answer."""

from __future__ import annotations

import subprocess
import threading
from types import SimpleNamespace

import pytest
from pyspark import SparkContext

from penstock.spark.session import session


def test_a_jvm_that_does_not_answer_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_active_spark_context", "_gateway", "_jvm"):  # those of other tests stay
        monkeypatch.setattr(SparkContext, name, None)
    monkeypatch.setattr(session, "_SHUTDOWN_TIMEOUT_S", 0.05)
    released = threading.Event()
    process = subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE)
    wait = process.wait
    monkeypatch.setattr(process, "wait", lambda timeout=None: wait(timeout and 0.05))
    try:
        session._end_jvm(SimpleNamespace(shutdown=released.wait, proc=process))
        assert process.returncode == -9
    finally:
        released.set()
        process.kill()
