"""What an elastic stream gives, for tests of calls that might hang."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pyarrow as pa

from penstock.element.pool.stream import ElasticStream


def rows_within(own: ElasticStream, batch: pa.RecordBatch, timeout_s: float) -> list[dict[str, Any]]:
    """On a thread of its own: whatever hangs fails the test, and not the tests after it."""
    done: Future[list[dict[str, Any]]] = Future()

    def run() -> None:
        try:
            done.set_result([row for part in own.run([batch]) for row in part.to_pylist()])
        except Exception as error:
            done.set_exception(error)
        own.pool.close()

    threading.Thread(target=run, daemon=True).start()
    return done.result(timeout=timeout_s)
