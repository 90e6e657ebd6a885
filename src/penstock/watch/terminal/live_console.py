"""The loop around the live console: looks at a running application until it ends, its time is over, or Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Literal, Protocol

from rich.console import Console
from rich.live import Live

from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration
from penstock.watch.figures import clock_text, replicas_text
from penstock.watch.gauges import gauges
from penstock.watch.terminal.console_view import ConsoleView

_REFRESH_S = 0.5  # a view takes some 10 ms of CPU
_PLAIN_EVERY_S = 5.0
_EVENTS_SHOWN = 6
Ending = Literal["done", "time is over", "interrupted", "command"]


class Watched(Protocol):
    """A running application, as far as it is looked at."""

    @property
    def configuration(self) -> Configuration: ...

    def wait(self, timeout_s: float | None = None) -> bool: ...


class LiveConsole:
    """Shows an application: drawn anew a few times a second on a terminal, else a line every few seconds.

    `duration_s` ends the watching, `expected_s` is only shown.
    """

    def __init__(
        self,
        screen: Console,
        title: str,
        application: Watched,
        observations: Callable[[], Sequence[Observation]],
        *,
        duration_s: float | None = None,
        expected_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        control: Callable[[], Sequence[tuple[str, str]]] = lambda: (),
    ) -> None:
        self.screen, self.title, self.application, self.observations = screen, title, application, observations
        self.duration_s, self._clock = duration_s, clock
        self._expected_s = duration_s if expected_s is None else expected_s
        self._control = control
        self.events: list[str] = []
        self._begin_s = clock()
        self._printed_s = self._begin_s

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._begin_s

    def tell(self, event: str) -> None:
        """Adds a line to what is shown."""
        self.events.append(event)
        if not self.screen.is_terminal:
            self.screen.print(event, markup=False, soft_wrap=True)

    def watch(self, act: Callable[[float], None] = lambda elapsed_s: None) -> Ending:
        """Looks on, calling `act` with the seconds passed, and says how it ended."""
        with interrupts_noted() as interrupted, self._live() as live:
            while not (interrupted.is_set() or self._is_over()):
                if self.application.wait(self._rest_s()):
                    return "done"
                act(self.elapsed_s)
                self._show(live)
            return "interrupted" if interrupted.is_set() else "time is over"

    def view(self) -> ConsoleView:
        """What a terminal would show now."""
        shown = self.events[-_EVENTS_SHOWN:]
        observations = self.observations()
        return ConsoleView(
            self.title, observations, self.application.configuration, self.elapsed_s, self._expected_s, shown,
            self._control(),
        )  # fmt: skip

    def _live(self) -> Live:
        return Live(console=self.screen, auto_refresh=False, transient=True)

    def _show(self, live: Live) -> None:
        if self.screen.is_terminal:
            live.update(self.view(), refresh=True)
        elif self._clock() - self._printed_s >= _PLAIN_EVERY_S:
            self._printed_s = self._clock()
            line = plain_line(self.observations(), self.application.configuration, self.elapsed_s)
            self.screen.print(line, markup=False, soft_wrap=True)

    def _is_over(self) -> bool:
        return self.duration_s is not None and self.elapsed_s >= self.duration_s

    def _rest_s(self) -> float:
        rest_s = _REFRESH_S if self.duration_s is None else min(_REFRESH_S, self.duration_s - self.elapsed_s)
        return max(rest_s, 0.01)


@contextmanager
def interrupts_noted() -> Iterator[threading.Event]:
    """Ctrl-C sets an event, since an exception in the middle of a call to Spark's JVM would garble the next ones.

    A second Ctrl-C is raised as ever, for whoever cannot wait.
    """
    noted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        if noted.is_set():
            raise KeyboardInterrupt
        noted.set()

    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def plain_line(observations: Sequence[Observation], configuration: Configuration, elapsed_s: float) -> str:
    """The moment, the main figures, the replicas in force, and dead letters if there were any."""
    if not observations:
        return f"{clock_text(elapsed_s)}  waiting for the first micro-batch"
    figures = [f"{gauge.label} {gauge.figure}" for gauge in gauges(observations, bins=0)]
    letters = sum(o.dead_letters for o in observations)
    shown_parts = [f"micro-batches {len(observations):,}", *figures, f"replicas {replicas_text(configuration)}"]
    return "; ".join(
        [
            f"{clock_text(elapsed_s)}  {shown_parts[0]}",
            *shown_parts[1:],
            *([f"dead letters {letters:,}"] if letters else []),
            *observations[-1].advice,
        ]
    )
