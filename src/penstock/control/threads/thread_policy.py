"""What every policy of an element's level is: a pure function whose memory is a frozen value."""

from __future__ import annotations

from typing import Protocol, TypeVar

from penstock.control.threads.element_setting import ElementSetting
from penstock.measure.element_observation import ElementObservation

State = TypeVar("State")


class ThreadPolicy(Protocol[State]):
    """`start` gets the shape of the element; `decide` gives the setting of the next period and why."""

    def start(self, observation: ElementObservation) -> tuple[State, ElementSetting]: ...

    def decide(self, state: State, observation: ElementObservation) -> tuple[State, ElementSetting, str]: ...

    def settled(self, state: State) -> bool:
        """Whether nothing is being tried out any more."""
        ...
