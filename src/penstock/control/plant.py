"""The two ports of what is controlled: Spark, the in-process engine, the simulator and the queue model alike."""

from __future__ import annotations

from typing import Protocol

from penstock.control.control_step import ControlStep
from penstock.plan.configuration import Configuration


class Plant(Protocol):
    """Something that runs under a Configuration and can be observed step by step."""

    @property
    def configuration(self) -> Configuration:
        """The one in force."""
        ...

    def observe(self) -> ControlStep | None:
        """The next control step, when it has ended; None when there is none any more."""
        ...

    def apply(self, configuration: Configuration) -> None:
        """Takes effect with the next micro-batch."""
        ...
