"""One start in a process of its own: `python -m benchmarks.spark.start.trial ours|plain`, its times as one JSON object.

Nothing is imported before the clock runs, but for what Python itself has.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_RATE_TUPLES_S = 1000
_PATIENCE_S = 300.0


def main(kind: str, began_s: float) -> dict[str, Any]:
    return _ours(began_s) if kind == "ours" else _plain(began_s)


def _ours(began_s: float) -> dict[str, Any]:
    import penstock as ps
    from penstock.spark.driver.start import start

    imported_s = time.monotonic()
    session = None
    cold_s, phases, in_batch_s, session = _first_result(ps, start, began_s, session)
    warm_began_s = time.monotonic()
    warm_s, warm_phases, _, session = _first_result(ps, start, warm_began_s, session)
    return {
        "first_result_s_cold": cold_s,
        "first_result_s_warm": warm_s,
        "phases_s": {"imports": imported_s - began_s, **phases, "first batch": in_batch_s},
        "warm_phases_s": warm_phases,
    }


def _first_result(ps: Any, start: Any, began_s: float, session: Any) -> tuple[float, dict[str, float], float, Any]:
    seen = threading.Event()
    moments: list[float] = []

    def note(rows: Any, batch: int) -> None:
        if rows.num_rows:
            moments.append(time.monotonic())
            seen.set()

    app = ps.Application("first_result")
    trades = app.source("trades", ps.sources.trace(rate="constant", rate_tuples_s=_RATE_TUPLES_S))
    trades.functor("cheap", where="price < 1000").sink("out", ps.sinks.callback(note))
    handle = start(app, master="local[2]", session=session)
    started_s = time.monotonic()
    try:
        while not seen.is_set():
            handle.wait(0.01)
            if time.monotonic() - began_s > _PATIENCE_S:
                raise TimeoutError("no result")
    finally:
        handle.stop()
    phases = {phase.name: phase.seconds for phase in handle.phases.ended}
    return moments[0] - began_s, phases, moments[0] - started_s, handle.session


def _plain(began_s: float) -> dict[str, Any]:
    import os

    from penstock.host.java import java_home  # the same Java

    os.environ["JAVA_HOME"], os.environ["PYSPARK_PYTHON"] = str(java_home()), sys.executable
    from pyspark.sql import DataFrame, SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    opened_s = time.monotonic()
    session.sparkContext.setLogLevel("OFF")
    seen = threading.Event()
    moments: list[float] = []

    def note(frame: DataFrame, batch: int) -> None:
        if frame.toArrow().num_rows and not seen.is_set():
            moments.append(time.monotonic())
            seen.set()

    rows = session.readStream.format("rate").option("rowsPerSecond", _RATE_TUPLES_S).load()
    with tempfile.TemporaryDirectory() as folder:
        writer = rows.mapInArrow(_unchanged, rows.schema).writeStream.foreachBatch(note)
        query = writer.option("checkpointLocation", str(Path(folder) / "checkpoint")).start()
        while not seen.wait(0.05):
            if query.exception() is not None or time.monotonic() - began_s > _PATIENCE_S:
                raise TimeoutError(f"plain PySpark gave no result: {query.exception() or 'it took too long'}")
        query.stop()
    return {"plain_first_result_s": moments[0] - began_s, "plain_session_s": opened_s - began_s}


def _unchanged(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


if __name__ == "__main__":
    _BEGAN_S = time.monotonic()
    print(json.dumps(main(sys.argv[1], _BEGAN_S)))
