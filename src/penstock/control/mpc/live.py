"""MPC on a running cluster: it looks as far ahead as executors take to start, and at settings near the one in force."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from penstock.control.control_step import ControlStep
from penstock.control.decision import Decision
from penstock.control.mpc.chance import keeps_goal
from penstock.control.mpc.learning import Learned
from penstock.control.mpc.policy import Mpc
from penstock.control.setting import Grid


@dataclass(frozen=True, slots=True)
class LiveMpc:
    """Asks for replicas as many steps early as the next executor takes, where one would be needed.

    Settings that cannot be best are not tried, since each costs time: of all caps three, of which none would hold up
    decisions, and no more replicas than help, where those are sure to keep the goal.
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
        mpc = replace(self.mpc, lead_steps=lead_steps, grid=near(self.mpc.grid, seen))
        state = mpc.learn(state, seen)
        fewer = helping(mpc.grid, seen)
        if len(fewer) < len(mpc.grid) and is_enough(mpc, state, fewer):
            mpc = replace(mpc, grid=fewer)
        return state, mpc.decision(state, seen)


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


def helping(grid: Grid, seen: ControlStep) -> Grid:
    """The grid with no more replicas than help, but for those that are there.

    >>> from penstock.control.setting import Setting
    >>> seen = ControlStep(1, 1.0, 1.0, Setting(1), 0.0, 0.0, 0.0, 0.0, highest_replicas=2)
    >>> helping(Grid((1, 2, 3, 4)), seen).replicas
    (1, 2)
    """
    most = max(seen.highest_replicas or grid.replicas[-1], seen.setting.replicas)
    return replace(grid, replicas=tuple(n for n in grid.replicas if n <= most) or grid.replicas[:1])


def is_enough(mpc: Mpc, state: Learned, grid: Grid) -> bool:
    """Whether a grid's most replicas keep the goal at the highest rates that are planned for: nothing asks for more."""
    if mpc.solver != "chance" or state.gigacycles is None:
        return False
    most = Grid(grid.replicas[-1:], grid.frequencies_ghz[-1:], grid.caps_tuples[-1:])
    return keeps_goal(replace(mpc, grid=most).chances(state, most.setting(0), mpc.planned_rates(state)))
