"""Which CPU time of a process may be a call's own, beside other elements."""

from __future__ import annotations

import threading

from penstock.element.threads.thread_slot import ThreadSlot
from penstock.element.threads.timing.live_set import LiveSet
from penstock.element.threads.timing.other_elements import HasThreadSlots, UnknownThreads, thread_slots_by_feeder


class Clocked(ThreadSlot):
    """A thread slot whose clock is set by hand."""

    __slots__ = ("seconds",)

    def __init__(self, native_id: int) -> None:
        super().__init__()
        self.native_id, self.seconds = native_id, 0.0

    @property
    def cpu_s(self) -> float:
        return self.seconds


class Some:
    """An element with thread slots."""

    def __init__(self, *threads: int) -> None:
        self.thread_slots: dict[int, ThreadSlot] = {thread: Clocked(-thread) for thread in threads}


class Clocks:
    """A process with some threads of other elements, looked at by the thread that asks."""

    def __init__(self, *others: Clocked) -> None:
        self.others, self.process_ns, self.own_ns = list(others), 10_000_000, 4_000_000
        self.unknown = UnknownThreads(lambda: list(self.others), lambda: self.process_ns, lambda: self.own_ns)


def test_time_of_this_thread_and_of_other_elements_is_known() -> None:
    feeding, working = Clocked(-1), Clocked(-2)
    clocks = Clocks(feeding, working)
    clocks.unknown.take()
    clocks.process_ns += 10_000_000
    clocks.own_ns += 1_000_000
    feeding.seconds += 0.002
    working.seconds += 0.003
    assert clocks.unknown.take() == 4_000_000
    assert clocks.unknown.take() == 0


def test_a_thread_is_known_from_the_second_look_on() -> None:
    first, late = Clocked(-1), Clocked(-2)
    clocks = Clocks(first)
    clocks.unknown.take()
    late.seconds = 100.0  # it has long been there, elsewhere
    clocks.others.append(late)
    clocks.process_ns += 5_000_000
    assert clocks.unknown.take() == 5_000_000
    clocks.process_ns += 5_000_000
    late.seconds += 0.005
    assert clocks.unknown.take() == 0


def test_without_other_elements_nothing_is_told() -> None:
    clocks = Clocks()
    assert clocks.unknown.take() is None
    clocks.process_ns += 5_000_000
    assert clocks.unknown.take() is None


def test_elements_that_this_thread_feeds_may_work_for_it() -> None:
    elements: LiveSet[HasThreadSlots] = LiveSet()
    mine, others = Some(threading.get_ident(), 7), Some(8, 9)
    elements.add(mine)
    elements.add(others)
    own, other = ({slot.native_id for slot in slots} for slots in thread_slots_by_feeder(elements))
    assert own == {-threading.get_ident(), -7}
    assert other == {-8, -9}
