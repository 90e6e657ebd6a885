"""The ElementSetting: what can be changed inside a running element, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ElementSetting:
    """Scheduler threads awake (the source's own thread is not counted), and the operators with a queue in front."""

    threads: int
    queued: frozenset[str] = frozenset()
