"""What a policy of the application level is."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision


class Policy(Protocol):
    """Decides from what was observed; remembers nothing but its state, a frozen value that the loop hands back.

    The module's docstring of `ps.policies` has a whole one; this one never changes anything.

    >>> from penstock.control.decision import Hold
    >>> class Still:
    ...     name = "still"
    ...     def start(self):
    ...         return None
    ...     def decide(self, state, seen):
    ...         return state, Hold("as it is")
    >>> Still().decide(None, None)[1].because
    'as it is'
    """

    @property
    def name(self) -> str: ...

    def start(self) -> Any:
        """The state before anything was observed."""
        ...

    def decide(self, state: Any, seen: ControlStep) -> tuple[Any, Decision]:
        """The next state, and what to do after this step."""
        ...
