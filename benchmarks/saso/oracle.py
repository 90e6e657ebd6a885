"""A policy that knows the future of a plant: what the others are measured against."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from penstock.connectors.trace.arrivals import Arrivals
from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision, change_or_hold
from penstock.control.mpc.learning import Learned, clock_ghz
from penstock.control.mpc.policy import Mpc
from penstock.simulate.plant_shape import PlantShape


@dataclass(frozen=True, slots=True)
class Oracle:
    """MPC with the true rates and costs of the next steps instead of forecasts.

    Its weights let a change cost next to nothing.  `margin` covers what the fluid model of a step leaves out; the least
    one that causes no violation which another would not is the oracle's (`python -m benchmarks saso` finds it).
    """

    mpc: Mpc
    shape: PlantShape
    arrivals: Arrivals
    margin: float = 1.0
    name: str = "oracle"

    def start(self) -> Learned:
        return self.mpc.start()

    def decide(self, state: Learned, seen: ControlStep) -> tuple[Learned, Decision]:
        state = self.mpc.learn(state, seen)
        now_s, period_s = seen.ended_at_s, self.mpc.period_s
        steps = self.mpc.horizon
        ahead = math.ceil(self.shape.start_s / period_s - 1e-9)  # what comes while a replica starts needs it, too
        counts = [self.arrivals.arrived_by(now_s + i * period_s) for i in range(steps + ahead + 1)]
        coming = np.diff(np.asarray(counts, np.float64)) / period_s * self.margin
        rates = np.array([coming[i : i + ahead + 1].max() for i in range(steps)])
        factor = max(self.shape.service_factor(now_s + i * period_s) for i in (0, 1))
        top_ghz = (
            self.shape.highest_frequency_ghz if seen.setting.frequency_ghz is not None else clock_ghz(seen.setting)
        )
        known = replace(
            state,
            gigacycles=self.shape.service_s * factor * top_ghz,
            overhead_s=self.shape.overhead_s,
            limit=replace(state.limit, seen=()),
        )
        desired = self.mpc.grid.setting(self.mpc.solve(known, seen.setting, rates).trajectory[0])
        return state, change_or_hold(seen.setting, desired, f"knows that {rates[0]:.0f} tuples/s come next")
