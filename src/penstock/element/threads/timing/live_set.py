"""Objects of this process that somebody still has."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class LiveSet(Generic[T]):
    """Forgets what nobody else has any more; threads may add to it while others look."""

    def __init__(self) -> None:
        self._objects: WeakSet[T] = WeakSet()
        self._lock = threading.RLock()  # garbage may be collected while it is held, and what ends then may look, too

    def add(self, each: T) -> None:
        with self._lock:
            self._objects.add(each)

    def now(self) -> list[T]:
        """Those that live at this moment."""
        with self._lock:
            return list(self._objects)
