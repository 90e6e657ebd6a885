"""MPC that asks for replicas as long before their need as executors take to start, as was learned so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision
from penstock.control.mpc import Mpc
from penstock.control.mpc_learning import Learned


@dataclass(frozen=True, slots=True)
class LeadingMpc:
    """Looks ahead by as many steps as the next executor takes, where one would be needed."""

    mpc: Mpc

    @property
    def name(self) -> str:
        return self.mpc.name

    def start(self) -> Learned:
        return self.mpc.start()

    def decide(self, state: Learned, seen: ControlStep) -> tuple[Learned, Decision]:
        if seen.executor_start_s is None:
            return self.mpc.decide(state, seen)
        lead_steps = math.ceil(seen.executor_start_s / self.mpc.period_s)
        return replace(self.mpc, lead_steps=lead_steps).decide(state, seen)
