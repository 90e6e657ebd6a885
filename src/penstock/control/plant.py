"""The ports of what is controlled: Spark, the in-process engine and the twin alike."""

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


class PacedPlant(Protocol):
    """A plant that knows after each micro-batch which cap is worked off in time."""

    @property
    def cap_tuples(self) -> int:
        """The cap of the next micro-batch."""
        ...

    @property
    def cap_in_time(self) -> int | None:
        """The cap that suits what the last micro-batch took; None where caps are left to the policy."""
        ...

    def apply_cap(self, tuples: int) -> None:
        """Another cap from the next micro-batch on, and nothing else."""
        ...
