"""How far the calls of a unit have come, whichever thread goes on with them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from penstock.element.pool.calls import Calls, Outcome, Part, Unit, UnreadableRow
from penstock.operators.python_functions import failure

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 5.0


class Progress:
    """The next call of a unit and what the calls before it gave.  A call that failed comes again, `pause_s` later."""

    def __init__(self, calls: Calls, unit: Unit) -> None:
        self.unit, self.pause_s = unit, 0.0
        self._calls = calls
        self._arguments: Sequence[Any] | None = None
        self._attempts = 0  # of the next call, that failed
        self._parts: list[Part] = []
        self._error: str | None = None
        self._begin_s = 0.0

    def begin(self) -> None:
        """On the thread that makes the first call."""
        if self._arguments is None:
            self._begin_s = time.perf_counter()
            unit = self.unit
            self._arguments = self._calls.arguments(unit.batch) if unit.arguments is None else unit.arguments

    def has_call(self) -> bool:
        """Whether there is another call to make; rows that no call can be made with have failed by then."""
        while not self._done and isinstance(self.argument, UnreadableRow):
            self._give_up(self.argument.error)
        return not self._done

    @property
    def _done(self) -> bool:
        assert self._arguments is not None
        return self._error is not None or len(self._parts) == len(self._arguments)

    @property
    def argument(self) -> Any:
        assert self._arguments is not None
        return self._arguments[len(self._parts)]

    def gave(self, result: Any) -> None:
        """The call came back.  What is no output would be none at another attempt either."""
        try:
            self._next(self._calls.gave(result))
        except BaseException as raised:  # its rows may be made only here, by the user's code
            self._give_up(failure(raised))

    def failed(self, error: str) -> None:
        if self._attempts == self._calls.retries:
            self._give_up(error)
            return
        self._attempts += 1
        self.pause_s = min(2 * self.pause_s or _FIRST_PAUSE_S, _LONGEST_PAUSE_S)

    def was_late(self) -> None:
        self.failed(self._calls.late)

    def outcome(self) -> Outcome:
        """What became of the unit."""
        return Outcome(self.unit, self._parts, self._error, time.perf_counter() - self._begin_s)

    def broke(self, raised: BaseException) -> Outcome:
        """The unit fails, whatever is to become of errors, since nothing is known of its calls."""
        self._parts, self._error = [], failure(raised)
        return self.outcome()

    def _give_up(self, error: str) -> None:
        if self._calls.error_column is None:
            self._error = error
        else:
            self._next(self._calls.failed(self.unit, len(self._parts), error))

    def _next(self, part: Part) -> None:
        self._parts.append(part)
        self._attempts, self.pause_s = 0, 0.0
