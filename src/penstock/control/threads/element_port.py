"""The port of an element's level: what is read from it and what is set; the same for real elements and the plant."""

from __future__ import annotations

from typing import Protocol

from penstock.control.threads.element_setting import ElementSetting
from penstock.measure.element_observation import ElementObservation


class ElementPort(Protocol):
    """One element. `observe` lets a control period pass and returns it; `apply` holds from the next period on."""

    def observe(self) -> ElementObservation: ...

    def apply(self, setting: ElementSetting) -> None: ...
