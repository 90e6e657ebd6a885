"""MPC on a running cluster: it looks as far ahead as executors take to start, and at caps near the one in force."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision
from penstock.control.mpc import Mpc
from penstock.control.mpc_learning import Learned
from penstock.control.setting import Grid


@dataclass(frozen=True, slots=True)
class LiveMpc:
    """Asks for replicas as many steps early as the next executor takes, where one would be needed.

    Of all caps only three are tried, of which none would hold up decisions: solving costs the square of the settings.
    """

    mpc: Mpc

    @property
    def name(self) -> str:
        return self.mpc.name

    def start(self) -> Learned:
        return self.mpc.start()

    def decide(self, state: Learned, seen: ControlStep) -> tuple[Learned, Decision]:
        start_s = seen.executor_start_s
        lead_steps = self.mpc.lead_steps if start_s is None else math.ceil(start_s / self.mpc.period_s)
        return replace(self.mpc, lead_steps=lead_steps, grid=near(self.mpc.grid, seen)).decide(state, seen)


def near(grid: Grid, seen: ControlStep) -> Grid:
    """The grid with the cap of a step, the next lower and the next higher one.

    >>> from penstock.control.setting import Setting
    >>> seen = ControlStep(1, 1.0, 1.0, Setting(1, None, 400), 0.0, 0.0, 0.0, 0.0, highest_cap_tuples=400)
    >>> near(Grid((1,), caps_tuples=(25, 100, 400, 1600)), seen).caps_tuples
    (100, 400)
    """
    caps, now = grid.caps_tuples, seen.setting.micro_batch_tuples
    place = min(range(len(caps)), key=lambda i: abs(caps[i] - now))
    most = max(seen.highest_cap_tuples or caps[-1], caps[place])
    return replace(grid, caps_tuples=tuple(cap for cap in caps[max(place - 1, 0) : place + 2] if cap <= most))
