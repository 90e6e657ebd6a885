"""The controller of a threaded element: a thread that lets a policy set its level and queues while it works."""

from __future__ import annotations

import sys
import threading
from collections import deque
from dataclasses import replace
from typing import Any

from penstock.control.element_loop import ElementStep, run_periods
from penstock.control.element_policy import ElementPolicy
from penstock.control.element_setting import ElementSetting
from penstock.element.threads.threaded_element import ThreadedElement
from penstock.measure.element_observation import ElementObservation
from penstock.measure.idle_cores import IdleCores
from penstock.measure.thread_observation import observation_of

_KEPT_STEPS = 1000
_SHORTEST_WAIT_S = 0.001


class _Ended(Exception):
    """The element has no more periods."""


class LivePort:
    """The port of an element at work: a period is over when the element was busy for that long."""

    def __init__(self, element: ThreadedElement, period_s: float, end: threading.Event) -> None:
        self._element, self._period_s, self._end = element, period_s, end
        self._idle = IdleCores()

    def observe(self) -> ElementObservation:
        self._idle.resume()
        until_s = self._element.busy_s + self._period_s
        while (missing_s := until_s - self._element.busy_s) > 0:
            if self._end.wait(max(missing_s, _SHORTEST_WAIT_S)):
                raise _Ended
        seen = observation_of(self._element.observe(), self._element.graph)
        return replace(seen, idle_cores=self._idle.take())

    def apply(self, setting: ElementSetting) -> None:
        self._element.set(setting.threads, setting.queued)


class ElementController:
    """Runs a policy over an element until it is closed; the newest steps are in `journal`.

    Time between micro-batches does not count, so the same policy serves an element that is fed all the time and one
    that a Spark worker keeps between its tasks.
    """

    def __init__(self, element: ThreadedElement, policy: ElementPolicy[Any], *, period_s: float = 1.0) -> None:
        self.journal: deque[ElementStep] = deque(maxlen=_KEPT_STEPS)
        self._end = threading.Event()
        self._failure: Exception | None = None
        self._port, self._policy = LivePort(element, period_s, self._end), policy
        self._thread = threading.Thread(target=self._run, name="penstock-controller", daemon=True)
        self._thread.start()

    @property
    def settled(self) -> bool:
        """Whether nothing is being tried out any more; a level above waits for it."""
        return bool(self.journal) and self.journal[-1].settled

    def close(self) -> None:
        """Stops deciding, and raises what the policy failed with, if it did; the element keeps its last setting."""
        self._end.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> ElementController:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            for step in run_periods(self._port, self._policy, sys.maxsize):
                self.journal.append(step)
        except _Ended:
            return
        except Exception as error:
            self._failure = error
