"""What something long is doing: phases with names and seconds, reported to listeners."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a start that has ended."""

    name: str
    seconds: float


class Phases:
    """The phases of one start, in the order in which they ended."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.ended: list[Phase] = []
        self._clock = clock

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """What happens within counts as a phase of this name; listeners are called when it begins."""
        began_s = self._clock()
        _tell.get()(name)
        try:
            yield
        finally:
            self.ended.append(Phase(name, self._clock() - began_s))


def phases_text(phases: list[Phase]) -> str:
    """One line.

    >>> phases_text([Phase("Spark", 3.14), Phase("warm-up", 2.0)])
    'Spark 3.1 s, warm-up 2.0 s'
    """
    return ", ".join(f"{phase.name} {phase.seconds:.1f} s" for phase in phases)


def _nobody(name: str) -> None:
    pass


_tell: ContextVar[Tell] = ContextVar("told_of_phases", default=_nobody)


@contextlib.contextmanager
def listening(tell: Tell) -> Iterator[None]:
    """Has `tell` called with the name of each phase that begins within, in this thread."""
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)
