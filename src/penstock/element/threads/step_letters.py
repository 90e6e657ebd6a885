"""Dead letters of a threaded element: kept with their step, and let go in the order of steps."""

from __future__ import annotations

import threading

from penstock.block.dead_letters import DeadLetters, Letters
from penstock.element.threads.step import Step
from penstock.element.threads.thread_slot import ThreadSlot


class StepLetters(DeadLetters):
    """What operators add goes to the step that their thread works on; elsewhere straight to the application's."""

    def __init__(self, letters: DeadLetters, thread_slots: dict[int, ThreadSlot]) -> None:
        super().__init__(fail=letters.fail)
        self._all, self.thread_slots = letters, thread_slots

    def keep(self, letters: Letters) -> None:
        thread_slot = self.thread_slots.get(threading.get_ident())
        if thread_slot is None or thread_slot.step is None or thread_slot.stage is None:
            self._all.keep(letters)
        else:
            thread_slot.step.letters.append((thread_slot.stage.number, letters))

    def drop(self, operator: str, rows: int) -> None:
        self._all.drop(operator, rows)

    def release(self, step: Step) -> None:
        """A complete step's letters, in program order."""
        if step.letters:
            for _, letters in sorted(step.letters, key=lambda pair: pair[0]):
                self._all.keep(letters)
