"""Threads of other elements in this process, whose computing is none of the calling thread's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from penstock.element.threads.thread_slot import ThreadSlot
from penstock.element.threads.timing.live_set import LiveSet


class HasThreadSlots(Protocol):
    """An element, as far as its threads are concerned: `thread_slots` by thread, the feeding one among them."""

    thread_slots: dict[int, ThreadSlot]


ELEMENTS: LiveSet[HasThreadSlots] = LiveSet()  # those of this process


def thread_slots_by_feeder(elements: LiveSet[HasThreadSlots] = ELEMENTS) -> tuple[list[ThreadSlot], list[ThreadSlot]]:
    """Those of elements that this thread feeds, which may work for a call that does so; and those of all others."""
    this = threading.get_ident()
    by_element = [element.thread_slots.copy() for element in elements.now()]
    own = [slot for slots in by_element if this in slots for slot in slots.values()]
    return own, [slot for slots in by_element if this not in slots for slot in slots.values()]


def thread_slots_of_others() -> list[ThreadSlot]:
    return thread_slots_by_feeder()[1]


class UnknownThreads:
    """CPU time of the process that is neither this thread's nor of other elements: libraries may compute for it.

    A thread is known from one look to the next; until then its time is unknown, too.
    """

    def __init__(
        self,
        others: Callable[[], list[ThreadSlot]] = thread_slots_of_others,
        process_ns: Callable[[], int] = time.process_time_ns,
        own_ns: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._others, self._process_ns, self._own_ns = others, process_ns, own_ns
        self._known: dict[int, int] = {}
        self._total_ns = process_ns()

    def take(self) -> int | None:
        """Nanoseconds since the last time, on the same thread; None where no other element was there."""
        before, before_ns = self._known, self._total_ns
        known = {slot.native_id: round(slot.cpu_s * 1e9) for slot in self._others()}
        has_others = not before.keys().isdisjoint(known)
        known[threading.get_native_id()] = self._own_ns()
        self._known, self._total_ns = known, self._process_ns()
        known_ns = sum(max(known[thread] - before[thread], 0) for thread in known.keys() & before.keys())
        return max(self._total_ns - before_ns - known_ns, 0) if has_others else None
