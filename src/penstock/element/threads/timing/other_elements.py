"""Threads of other elements in this process, whose computing is none of the calling thread's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from penstock.element.threads.thread_slot import Seat
from penstock.element.threads.timing.live_set import LiveSet


class Seated(Protocol):
    """An element, as far as its threads are concerned: `seats` by thread, the feeding one among them."""

    seats: dict[int, Seat]


ELEMENTS: LiveSet[Seated] = LiveSet()  # those of this process


def seats_by_feeder(elements: LiveSet[Seated] = ELEMENTS) -> tuple[list[Seat], list[Seat]]:
    """Those of elements that this thread feeds, which may work for a call that does so; and those of all others."""
    this = threading.get_ident()
    by_element = [element.seats.copy() for element in elements.now()]
    own = [seat for seats in by_element if this in seats for seat in seats.values()]
    return own, [seat for seats in by_element if this not in seats for seat in seats.values()]


def seats_of_others() -> list[Seat]:
    return seats_by_feeder()[1]


class UnknownThreads:
    """CPU time of the process that is neither this thread's nor of other elements: libraries may compute for it.

    A thread is known from one look to the next; until then its time is unknown, too.
    """

    def __init__(
        self,
        others: Callable[[], list[Seat]] = seats_of_others,
        process_ns: Callable[[], int] = time.process_time_ns,
        own_ns: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._others, self._process_ns, self._own_ns = others, process_ns, own_ns
        self._known: dict[int, int] = {}
        self._total_ns = process_ns()

    def take(self) -> int | None:
        """Nanoseconds since the last time, on the same thread; None where no other element was there."""
        before, before_ns = self._known, self._total_ns
        known = {seat.native_id: round(seat.cpu_s * 1e9) for seat in self._others()}
        is_beside = not before.keys().isdisjoint(known)
        known[threading.get_native_id()] = self._own_ns()
        self._known, self._total_ns = known, self._process_ns()
        known_ns = sum(max(known[thread] - before[thread], 0) for thread in known.keys() & before.keys())
        return max(self._total_ns - before_ns - known_ns, 0) if is_beside else None
