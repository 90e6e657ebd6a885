"""A set of objects that somebody still has, used by several threads."""

from __future__ import annotations

import gc
import sys
import threading

from penstock.element.threads.timing.live_set import LiveSet


class Thing:
    pass


def test_it_forgets_what_nobody_has_any_more() -> None:
    live = LiveSet[Thing]()
    kept, dropped = Thing(), Thing()
    live.add(kept)
    live.add(dropped)
    assert set(live.now()) == {kept, dropped}
    del dropped
    gc.collect()
    assert live.now() == [kept]


def test_a_thread_may_look_while_another_adds() -> None:
    live, interval_s = LiveSet[Thing](), sys.getswitchinterval()
    kept = [Thing() for _ in range(50_000)]
    for each in kept[:1_000]:
        live.add(each)
    adding = threading.Thread(target=lambda: [live.add(each) for each in kept[1_000:]])
    sys.setswitchinterval(1e-6)
    try:
        adding.start()
        while adding.is_alive():
            live.now()
    finally:
        sys.setswitchinterval(interval_s)
        adding.join(30)
    assert len(live.now()) == len(kept)
