"""What a policy of the application level is."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision


class Policy(Protocol):
    """Decides from what was observed; remembers nothing but its state, a frozen value that the loop hands back."""

    @property
    def name(self) -> str: ...

    def start(self) -> Any:
        """The state before anything was observed."""
        ...

    def decide(self, state: Any, seen: ControlStep) -> tuple[Any, Decision]:
        """The next state, and what to do after this step."""
        ...
