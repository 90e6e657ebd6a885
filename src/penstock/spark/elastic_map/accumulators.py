"""Spark's accumulators in functions that are called on several threads at once."""

from __future__ import annotations

import threading
from typing import Any

from pyspark.accumulators import Accumulator, _accumulatorRegistry

_lock = threading.Lock()


class _LockedAccumulator(Accumulator[Any]):
    """Spark's own reads its value, adds and writes: of two threads that do so at once one is not counted."""

    def add(self, term: Any) -> None:
        with _lock:
            super().add(term)


def lock_accumulators() -> None:
    """Those of the task that begins, which Spark has registered as it unpickled the task's function."""
    for accumulator in _accumulatorRegistry.values():
        accumulator.__class__ = _LockedAccumulator
