"""MPC as it runs on Spark: as early as executors need it, and with few caps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.control.configuration import Configuration
from penstock.control.control_step import ControlStep
from penstock.control.goal import throughput
from penstock.control.live_mpc import LiveMpc, near
from penstock.control.loop import Loop
from penstock.control.mpc_presets import default_mpc
from penstock.control.setting import Grid, Setting
from penstock.generate.arrivals import counted_arrivals
from penstock.simulate.plant_shape import PlantShape
from penstock.simulate.queue_plant import QueuePlant

GRID = Grid(tuple(range(1, 13)), caps_tuples=(3_000, 12_000, 48_000))


class Slow:
    """The queue model, whose executors are said to take so long."""

    def __init__(self, start_s: float | None) -> None:
        rates = np.linspace(1_000, 4_000, 60).astype(np.int64)
        self._plant = QueuePlant(
            PlantShape(noise=0.0), counted_arrivals(np.arange(61.0), rates), Setting(4, None, 48_000), end_s=60.0
        )
        self._start_s = start_s

    @property
    def configuration(self) -> Configuration:
        return self._plant.configuration

    def apply(self, configuration: Configuration) -> None:
        self._plant.apply(configuration)

    def observe(self) -> ControlStep | None:
        seen = self._plant.observe()
        return None if seen is None else replace(seen, executor_start_s=self._start_s)


def replicas_by_step(start_s: float | None) -> list[int]:
    """What is in force at each step of a rate that rises."""
    loop = Loop(LiveMpc(default_mpc(throughput(), GRID)), throughput())
    return [record.seen.setting.replicas for record in loop.run(Slow(start_s))]


def test_replicas_are_asked_for_earlier_where_executors_have_to_start() -> None:
    early, late = replicas_by_step(8.0), replicas_by_step(None)
    assert late[-1] > late[5]
    assert sum(early[5:50]) > sum(late[5:50])


def test_no_cap_is_tried_that_would_hold_up_decisions() -> None:
    seen = ControlStep(1, 1.0, 1.0, Setting(1, None, 12_000), 0.0, 0.0, 0.0, 0.0, highest_cap_tuples=12_000)
    assert near(GRID, seen).caps_tuples == (3_000, 12_000)
    assert near(GRID, ControlStep(1, 1.0, 1.0, Setting(1, None, 3_000), 0.0, 0.0, 0.0, 0.0)).caps_tuples == (
        3_000,
        12_000,
    )
