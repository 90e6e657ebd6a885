"""Replicas for the peak, always."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision
from penstock.control.rules.replica_bounds import FULL_RANGE, Bounds


@dataclass(frozen=True, slots=True)
class Static:
    """What most people do today."""

    replicas: int = 12
    bounds: Bounds = FULL_RANGE
    name: str = "static"

    def start(self) -> None:
        return None

    def decide(self, state: None, seen: ControlStep) -> tuple[None, Decision]:
        return state, self.bounds.to(seen, self.replicas, f"always {self.replicas}")
