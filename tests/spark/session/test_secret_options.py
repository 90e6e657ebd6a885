"""Settings of clients reach tasks, and no file that Spark writes: its event log has the properties of every job."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from penstock.connectors.planned import client_options

_SESSION = """
import sys
from pyspark import TaskContext
from penstock.connectors.planned import client_options
from penstock.spark.session.session import spark_session
from penstock.spark.sources.source_frames import given_options

log = {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false", "spark.eventLog.dir": sys.argv[1]}
session = spark_session("local[1]", conf=log)
client_options.keep("place", {"sasl.password": "very-secret"})
with given_options(session):
    one = session.sparkContext.parallelize([0], 1)
    print(one.map(lambda _: TaskContext.get().getLocalProperty(client_options.PROPERTY)).collect())
session.stop()
"""


def test_the_event_log_has_no_secret(tmp_path: Path) -> None:
    log = tmp_path / "events"
    log.mkdir()
    command = [sys.executable, "-c", _SESSION, log.as_uri()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=True)
    assert "very-secret" in done.stdout
    text = "".join(path.read_text() for path in log.rglob("*") if path.is_file())
    assert "SparkListenerJobStart" in text
    assert client_options.PROPERTY in text
    assert "very-secret" not in text
