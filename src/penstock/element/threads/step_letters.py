"""Dead letters of a threaded element: kept with their step, and let go in the order of steps."""

from __future__ import annotations

import threading

from penstock.block.dead_letters import DeadLetters, Letter
from penstock.element.threads.step import Step
from penstock.element.threads.thread_slot import Seat


class StepLetters(DeadLetters):
    """What operators add goes to the step that their thread works on; elsewhere straight to the application's."""

    def __init__(self, letters: DeadLetters, seats: dict[int, Seat]) -> None:
        super().__init__(fail=letters.fail)
        self._all, self.seats = letters, seats

    def keep(self, letter: Letter) -> None:
        seat = self.seats.get(threading.get_ident())
        if seat is None or seat.step is None or seat.stage is None:
            self._all.keep(letter)
        else:
            seat.step.letters.append((seat.stage.number, letter))

    def release(self, step: Step) -> None:
        """A complete step's letters, in program order."""
        if step.letters:
            for _, letter in sorted(step.letters, key=lambda pair: pair[0]):
                self._all.keep(letter)
